import type { Extension } from "../control-plane/extension.js";
import type { ServiceRequest } from "../runtime/http-server.js";
import { madeOnce } from "../runtime/task-queue.js";
import type { Dashboard } from "./dashboard.js";
import type { RequestRing } from "./request-ring.js";

/**
 * Loads the dashboard at its first request, so that a control plane without viewers does not pay for it. Only the latest
 * requests are recorded from the start.
 */
export class LazyDashboard implements Extension {
  readonly #get: () => Promise<Dashboard>;
  readonly #requests: Pick<RequestRing, "close">;
  #dashboard: Dashboard | undefined;

  constructor(requests: Pick<RequestRing, "close">, load: () => Promise<Dashboard>) {
    this.#requests = requests;
    this.#get = madeOnce(async () => {
      this.#dashboard = await load();
      return this.#dashboard;
    });
  }

  readonly services = { "/window": async (request: ServiceRequest) => (await this.#get()).serve(request) };

  readonly root = (request: ServiceRequest) =>
    wantsPage(request) ? this.#get().then((dashboard) => dashboard.page(request)) : undefined;

  /** Reads a host again after an action that changes no record. */
  look(host: string): void {
    this.#dashboard?.look(host);
  }

  close(): void {
    this.#requests.close();
    this.#dashboard?.close();
  }
}

function wantsPage({ method, path, headers }: ServiceRequest): boolean {
  return (method === "GET" || method === "HEAD") && path === "" && /\btext\/html\b/.test(headers.accept ?? "");
}
