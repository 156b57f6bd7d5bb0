import { withoutSecrets } from "../../cluster/request-log/shown-target.js";
import type { AnsweredRequest } from "../../cluster/request-log/watched-requests.js";
import type { SeenRequest } from "../cluster.js";

/** Requests that are kept. */
const MOST = 10_000;

type Whose = (token: string) => { readonly userName: string } | undefined;

/** The last requests that the APIs of a cluster have answered. */
export class SeenRequests {
  readonly #whose: Whose;
  #all: SeenRequest[] = [];

  /** @param whose says who a token is for */
  constructor(whose: Whose) {
    this.#whose = whose;
  }

  get all(): readonly SeenRequest[] {
    return this.#all.slice(-MOST);
  }

  clear(): void {
    this.#all = [];
  }

  readonly keep = ({ mount, request, response }: AnsweredRequest): void => {
    const { method, headers } = request;
    // A request for a token has none yet: its answer has it.
    const token = headers["x-auth-token"] ?? response.headers["x-subject-token"];
    const secrets = [token, headers["x-subject-token"], response.headers["x-subject-token"]];
    const shown = withoutSecrets(request.path, request.query, secrets);
    const [path = "", query = ""] = shown.split("?", 2);
    this.#all.push({
      service: mount.slice(1),
      method,
      path,
      query,
      status: response.status,
      user: token === undefined ? undefined : this.#whose(token)?.userName,
      requestId: response.headers["x-openstack-request-id"],
    });
    if (this.#all.length >= 2 * MOST) {
      this.#all = this.#all.slice(-MOST);
    }
  };
}
