import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { LogEvents, LogRow } from "../../../src/dashboard/wire/logs.js";
import type {
  ActionChoices,
  ActionResponse,
  DashboardHello,
  DashboardMessage,
  DashboardRow,
  Kind,
} from "../../../src/dashboard/wire/messages.js";
import type { RequestBodies, ServerLife } from "../../../src/dashboard/wire/rows.js";
import { PACKAGE_ROOT } from "../../process/support/program.js";

const FILES = join(PACKAGE_ROOT, "dist/bin/lib/dashboard");
const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};
/** The real server's content security policy. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
/** Rows per message of the snapshot. */
const PORTION = 500;

export interface FakeDashboardParts {
  readonly hello: () => DashboardHello;
  readonly rows: () => Iterable<DashboardRow>;
  readonly life?: (uuid: string) => ServerLife | null;
  readonly bodies?: (id: string) => RequestBodies | null;
  /** The lists of the APIs; null if they cannot be read. */
  readonly choices?: () => ActionChoices | null;
  readonly password?: string;
  /** Entries of the logs, whatever the filter. */
  readonly logs?: () => readonly LogRow[];
}

/** Sends the page whatever messages a test needs, over the real server's API. */
export class FakeDashboardServer {
  readonly #parts: FakeDashboardParts;
  readonly #server: Server;
  /** The stream to which each page listens: requests, or everything else. */
  readonly #streams = new Map<ServerResponse, "requests" | "events">();
  #seq = 0;
  #entered: boolean;
  /** Requests of the page, in order. */
  readonly requests: string[] = [];
  /** Actions that the page has sent. */
  readonly acted: { readonly name: string; readonly body: unknown; readonly secret: string | undefined }[] = [];
  actionResponse: ActionResponse = {
    ok: true,
    commands: [],
    error: null,
    code: null,
    lines: [],
    made: null,
    requestId: null,
  };

  constructor(parts: FakeDashboardParts) {
    this.#parts = parts;
    this.#entered = parts.password === undefined;
    this.#server = createServer((request, response) => {
      void this.#serve(request, response);
    });
  }

  async start(port = 0): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.listen(port, "127.0.0.1", resolve);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Returns the number of connected streams. */
  get listeners(): number {
    return this.#streams.size;
  }

  push(set: readonly DashboardRow[], gone: DashboardMessage["gone"] = []): void {
    const seq = ++this.#seq;
    for (const [stream, what] of this.#streams) {
      const matchesStream = ({ kind }: { readonly kind: Kind }) => (kind === "request") === (what === "requests");
      const message: DashboardMessage = {
        seq,
        at: Date.now(),
        set: set.filter(matchesStream),
        gone: gone.filter(matchesStream),
      };
      stream.write(`id: ${seq}\ndata: ${JSON.stringify(message)}\n\n`);
    }
  }

  /** Closes all streams, as when the server goes away. Pages reconnect by themselves. */
  drop(): void {
    for (const stream of this.#streams.keys()) {
      stream.destroy();
    }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const method = request.method ?? "GET";
    this.requests.push(`${method} ${request.url}`);
    if (method === "GET" && !/^\/window\/(events|session|servers|requests|logs|choices)\b/.test(pathname)) {
      await sendFile(pathname === "/" ? "index.html" : pathname.replace("/window/", ""), response);
    } else if (pathname === "/window/session") {
      await this.#session(method, request, response);
    } else if (!this.#entered) {
      response.writeHead(401).end();
    } else if (pathname === "/window/events" || pathname === "/window/requests") {
      this.#listen(response, pathname === "/window/events" ? "events" : "requests");
    } else if (pathname === "/window/logs") {
      this.#sendLogs(response);
    } else if (pathname === "/window/choices") {
      sendJson(response, this.#parts.choices?.() ?? null);
    } else if (pathname.startsWith("/window/actions/")) {
      const body = JSON.parse(await textOf(request)) as unknown;
      const secret = request.headers["x-window-session"]?.toString();
      this.acted.push({ name: pathname.slice("/window/actions/".length), body, secret });
      sendJson(response, this.actionResponse);
    } else {
      const id = decodeURIComponent(pathname.split("/")[3] ?? "");
      sendJson(
        response,
        (pathname.startsWith("/window/servers/") ? this.#parts.life : this.#parts.bodies)?.(id) ?? null,
      );
    }
  }

  async #session(method: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (method === "POST") {
      const { password } = JSON.parse(await textOf(request)) as { password?: string };
      this.#entered = password === this.#parts.password;
    }
    response.writeHead(this.#entered ? 204 : 401).end();
  }

  #sendLogs(response: ServerResponse): void {
    const send = <E extends keyof LogEvents>(event: E, data: LogEvents[E]) =>
      response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    send("begin", { names: ["control-plane"], problem: null });
    send("last", { rows: this.#parts.logs?.() ?? [], dropped: 0, searchedBytes: 300_000, isComplete: false });
  }

  #listen(response: ServerResponse, what: "events" | "requests"): void {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write(`event: hello\ndata: ${JSON.stringify(this.#parts.hello())}\n\n`);
    let portion: DashboardRow[] = [];
    const send = () => {
      const message: DashboardMessage = { seq: this.#seq, at: Date.now(), set: portion, gone: [] };
      response.write(`id: ${this.#seq}\ndata: ${JSON.stringify(message)}\n\n`);
      portion = [];
    };
    for (const row of what === "events" ? this.#parts.rows() : []) {
      portion.push(row);
      if (portion.length === PORTION) {
        send();
      }
    }
    send();
    response.write(`event: ready\ndata: ${JSON.stringify({ seq: this.#seq })}\n\n`);
    this.#streams.set(response, what);
    response.on("close", () => this.#streams.delete(response));
  }
}

async function sendFile(name: string, response: ServerResponse): Promise<void> {
  try {
    const content = await readFile(join(FILES, name.replaceAll("/", "")));
    const type = TYPES[name.split(".").at(-1) ?? ""] ?? "text/plain";
    response.writeHead(200, { "content-type": type, "content-security-policy": POLICY }).end(content);
  } catch {
    response.writeHead(404).end();
  }
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(body === null ? 404 : 200, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString();
}
