import type { Rejection } from "../../runtime/rejection.js";
import type { ServiceResponse } from "../../runtime/service.js";

/** What OpenStack's web framework says of each status before the detail. */
const EXPLANATIONS: Readonly<Record<number, readonly [title: string, explanation: string]>> = {
  400: [
    "Bad Request",
    "The server could not comply with the request since it is either malformed or otherwise incorrect.",
  ],
  403: ["Forbidden", "Access was denied to this resource."],
  404: ["Not Found", "The resource could not be found."],
  408: ["Request Timeout", "The server has waited too long for the request to be sent by the client."],
  413: ["Request Entity Too Large", "The body of your request was too large for this server."],
  431: ["Request Header Fields Too Large", "The header fields of your request were too large for this server."],
  500: ["Internal Server Error", "The server has either erred or is incapable of performing the requested operation."],
};

/** Answers a request that reaches no service, in the shape that OpenStack's Placement gives its errors. */
export function openstackError({ status, reason, requestId }: Rejection): ServiceResponse {
  const [title, explanation] = EXPLANATIONS[status] ?? ["Error", ""];
  const error = { status, title, detail: `${explanation}\n\n ${reason}  `, request_id: requestId };
  return {
    status,
    headers: { "content-type": "application/json", "x-openstack-request-id": requestId },
    body: JSON.stringify({ errors: [error] }),
  };
}
