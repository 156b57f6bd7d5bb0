import { withoutSecrets } from "../../control-plane/request-log/redaction.js";
import type { HandledRequest } from "../../control-plane/request-log/request-log.js";
import type { ObservedRequest } from "../cluster.js";

/** Requests that are kept. */
const MAX_REQUESTS = 10_000;

/** The last requests that the APIs of a cluster have answered. */
export class RequestHistory {
  #all: ObservedRequest[] = [];

  get all(): readonly ObservedRequest[] {
    return this.#all.slice(-MAX_REQUESTS);
  }

  clear(): void {
    this.#all = [];
  }

  readonly keep = ({ mount, request, response, caller }: HandledRequest): void => {
    const { method, headers } = request;
    const secrets = [headers["x-auth-token"], headers["x-subject-token"], response.headers["x-subject-token"]];
    const redacted = withoutSecrets(request.path, request.query, secrets);
    const [path = "", query = ""] = redacted.split("?", 2);
    this.#all.push({
      service: mount.slice(1),
      method,
      path,
      query,
      status: response.status,
      user: caller?.credentials.userName,
      requestId: response.headers["x-openstack-request-id"],
    });
    if (this.#all.length >= 2 * MAX_REQUESTS) {
      this.#all = this.#all.slice(-MAX_REQUESTS);
    }
  };
}
