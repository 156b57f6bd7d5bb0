import type { Extension } from "../cluster/extension.js";
import { madeOnce } from "../runtime/made-once.js";
import type { ServiceRequest } from "../runtime/service.js";
import type { Window } from "./window.js";

/** Loads the window when it is asked for the first time: until then a control plane pays nothing for it. */
export class LazyWindow implements Extension {
  readonly #get: () => Promise<Window>;
  #window: Window | undefined;

  constructor(load: () => Promise<Window>) {
    this.#get = madeOnce(async () => {
      this.#window = await load();
      return this.#window;
    });
  }

  readonly services = { "/window": async (request: ServiceRequest) => (await this.#get()).serve(request) };

  readonly root = (request: ServiceRequest) =>
    wantsPage(request) ? this.#get().then((window) => window.page(request)) : undefined;

  /** Something was done to a host that no record tells of. */
  look(host: string): void {
    this.#window?.look(host);
  }

  close(): void {
    this.#window?.close();
  }
}

function wantsPage({ method, path, headers }: ServiceRequest): boolean {
  return (method === "GET" || method === "HEAD") && path === "" && /\btext\/html\b/.test(headers.accept ?? "");
}
