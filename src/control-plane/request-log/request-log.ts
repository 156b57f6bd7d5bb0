import type { Logger } from "../../runtime/logger.js";
import { withoutSecrets } from "./rendered-target.js";
import { serviceNameOf } from "./service-names.js";
import type { RequestListener } from "./watched-requests.js";

/** The id that a caller gives what it is doing, which goes on to the services that are asked for it. */
const CALLERS_ID = /^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Writes one line for each request: method, path, status, milliseconds, the request's own id, that of the caller, and who asked.
 * Neither bodies nor tokens are written, nor what a query says of secrets.
 */
export function requestLog(logger: Logger): RequestListener {
  return ({ mount, request, response, caller, milliseconds }) => {
    const { headers } = request;
    const service = serviceNameOf(mount);
    const tokens = [headers["x-auth-token"], response.headers["x-subject-token"]];
    const global = headers["x-openstack-request-id"] ?? "";
    logger.info("request", {
      ...(service === undefined ? {} : { service }),
      request_id: response.headers["x-openstack-request-id"] ?? "-",
      ...(CALLERS_ID.test(global) ? { global_request_id: global } : {}),
      method: request.method.slice(0, LONGEST_METHOD),
      path: withoutSecrets(mount + request.path, request.query, [...tokens, headers["x-subject-token"]]),
      status: response.status,
      ms: milliseconds === null ? null : Math.round(milliseconds * 10) / 10,
      user: caller?.credentials.userName ?? "-",
      project: caller?.credentials.projectName ?? "-",
    });
  };
}

const LONGEST_METHOD = 20;
