import { IronicDriver } from "../../drivers/ironic/ironic-driver.js";
import type { HttpClient } from "../../src/runtime/http.js";
import { type DriverDefinition, defineDriver } from "../../src/virt/index.js";
import { StubHypervisor } from "../fixtures/tracker-driver.js";

/** The real ironic driver over a given client. */
export class BenchHypervisor extends StubHypervisor {
  /** Number of requests to Ironic so far. */
  requests = 0;
  readonly #http: HttpClient;
  readonly #url: string;

  constructor(http: HttpClient, url: string) {
    super();
    this.#http = http;
    this.#url = url;
  }

  override get definition(): DriverDefinition {
    const http: HttpClient = {
      request: (request) => {
        this.requests += 1;
        return this.#http.request(request);
      },
      close: () => this.#http.close(),
    };
    return defineDriver({
      name: "ironic",
      apiVersion: "1.0",
      create: (context) => new IronicDriver({ ...context, http, config: { endpoint_override: this.#url } }),
    });
  }
}
