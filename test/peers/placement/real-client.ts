import { Agent, request } from "node:http";
import type { ServiceRequest, ServiceResponse } from "../../../src/runtime/http-server.js";

/** Sends unmodified requests to a server over one connection. */
export class RealClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  async send(sent: ServiceRequest): Promise<ServiceResponse> {
    return new Promise((resolve, reject) => {
      const outgoing = request(
        `${sent.baseUrl}${sent.path}${sent.query === "" ? "" : `?${sent.query}`}`,
        { method: sent.method, agent: this.#agent, headers: { ...sent.headers } },
        (incoming) => {
          let body = "";
          incoming.setEncoding("utf8");
          incoming.on("data", (part: string) => {
            body += part;
          });
          incoming.on("error", reject);
          incoming.on("end", () => {
            const headers: Record<string, string> = {};
            for (const [name, value] of Object.entries(incoming.headers)) {
              headers[name] = String(value);
            }
            resolve({ status: incoming.statusCode ?? 0, headers, body });
          });
        },
      );
      outgoing.on("error", reject);
      outgoing.end(sent.body === "" ? undefined : sent.body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
