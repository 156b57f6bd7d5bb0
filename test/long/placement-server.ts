import { Agent, request } from "node:http";
import { Program } from "../process/support/program.js";

export interface PlacementResponse {
  readonly status: number;
  readonly body: unknown;
}

/** `compute-agent placement` as a child process. */
export class PlacementServer {
  readonly program: Program;
  readonly url: string;

  private constructor(program: Program, url: string) {
    this.program = program;
    this.url = url;
  }

  static async start(...args: string[]): Promise<PlacementServer> {
    const program = new Program("compute-cluster", ["placement", "--port", "0", "--auth-strategy", "noauth2", ...args]);
    const [, url = ""] = await program.printed(/placement ready at (http:\S+)/);
    return new PlacementServer(program, url);
  }
}

/** A client with one connection. A request rejects if the server dies meanwhile. */
export class PlacementClient {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string) {
    this.#url = url;
  }

  async send(method: string, path: string, body?: unknown): Promise<PlacementResponse> {
    return new Promise((resolve, reject) => {
      const headers: Record<string, string> = {
        "x-auth-token": "admin",
        "openstack-api-version": "placement 1.39",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      };
      const outgoing = request(`${this.#url}${path}`, { method, headers, agent: this.#agent }, (incoming) => {
        let text = "";
        incoming.setEncoding("utf8");
        incoming.on("data", (part: string) => {
          text += part;
        });
        incoming.on("error", reject);
        incoming.on("end", () => {
          resolve({ status: incoming.statusCode ?? 0, body: text === "" ? null : JSON.parse(text) });
        });
      });
      outgoing.on("error", reject);
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Returns the value at a path of a parsed body; undefined if there is none. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (found, key) => (typeof found === "object" && found !== null ? Reflect.get(found, key) : undefined),
    value,
  );
}
