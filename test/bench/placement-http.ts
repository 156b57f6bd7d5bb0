import { connect, type Socket } from "node:net";
import { performance } from "node:perf_hooks";

export interface RawResponse {
  readonly status: number;
  readonly body: string;
  readonly milliseconds: number;
}

interface Waiting {
  readonly resolve: (response: { status: number; body: Buffer }) => void;
  readonly reject: (error: Error) => void;
}

/** An HTTP/1.1 connection with one request at a time and minimal overhead. */
export class Connection {
  readonly #port: number;
  #socket: Socket | undefined;
  #chunks: Buffer[] = [];
  #waiting: Waiting | undefined;

  constructor(url: string) {
    this.#port = Number(new URL(url).port);
  }

  async send(method: string, path: string, body?: unknown): Promise<RawResponse> {
    const text = body === undefined ? "" : JSON.stringify(body);
    const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\nX-Auth-Token: admin\r\nOpenStack-API-Version: placement 1.39\r\nAccept: application/json\r\n`;
    const type = `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`;
    const message = `${head}${body === undefined ? "" : type}\r\n${text}`;
    const start = performance.now();
    const socket = await this.#open();
    const response = await new Promise<{ status: number; body: Buffer }>((resolve, reject) => {
      this.#waiting = { resolve, reject };
      socket.write(message);
    });
    const milliseconds = performance.now() - start;
    return { status: response.status, body: response.body.toString(), milliseconds };
  }

  close(): void {
    this.#socket?.destroy();
  }

  async #open(): Promise<Socket> {
    if (this.#socket !== undefined) {
      return this.#socket;
    }
    const socket = connect(this.#port, "127.0.0.1");
    socket.setNoDelay(true);
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    socket.on("data", (data: Buffer) => {
      this.#chunks.push(data);
      this.#read();
    });
    const gone = () => {
      if (this.#socket === socket) {
        this.#socket = undefined;
      }
      this.#waiting?.reject(new Error("the connection was closed"));
    };
    socket.on("close", gone).on("error", gone);
    this.#socket = socket;
    return socket;
  }

  #read(): void {
    const first = this.#chunks[0];
    if (first === undefined) {
      return;
    }
    const end = first.indexOf("\r\n\r\n");
    if (end < 0) {
      if (this.#chunks.length > 1) {
        this.#chunks = [Buffer.concat(this.#chunks)];
      }
      return;
    }
    const head = first.toString("latin1", 0, end);
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    let bytes = 0;
    for (const chunk of this.#chunks) {
      bytes += chunk.length;
    }
    if (bytes < end + 4 + length) {
      return;
    }
    const all = this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#chunks = [];
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve({ status: Number(head.slice(9, 12)), body: all.subarray(end + 4, end + 4 + length) });
  }
}

export interface Measured {
  readonly perSecond: number;
  readonly median: number;
  /** Body size in bytes. */
  readonly bytes: number;
  /** Number of responses with a status of 400 and above. */
  readonly failed: number;
}

/** Sends a request of a case. `worker` is the number of the connection, `turn` its request count. */
export type Shot = (connection: Connection, worker: number, turn: number) => Promise<RawResponse>;

export interface Effort {
  readonly seconds: number;
  readonly requests: number;
}

/** Sends as many requests as possible over several connections, after an uncounted warm-up. */
export async function measure(url: string, width: number, shot: Shot, effort: Effort): Promise<Measured> {
  const connections = Array.from({ length: width }, () => new Connection(url));
  const requestCounts = connections.map(() => 0);
  const round = async (count: number, seconds: number): Promise<RawResponse[]> => {
    const responses: RawResponse[] = [];
    const end = performance.now() + seconds * 1000;
    let left = count;
    await Promise.all(
      connections.map(async (connection, worker) => {
        while (left > 0 && performance.now() < end) {
          left -= 1;
          const turn = requestCounts[worker] ?? 0;
          requestCounts[worker] = turn + 1;
          const response = await shot(connection, worker, turn);
          responses.push({ ...response, body: responses.length === 0 ? response.body : "" });
        }
      }),
    );
    return responses;
  };
  await round(Math.ceil(effort.requests / 5), effort.seconds / 4);
  const start = performance.now();
  const responses = await round(effort.requests, effort.seconds);
  const seconds = (performance.now() - start) / 1000;
  for (const connection of connections) {
    connection.close();
  }
  const times = responses.map(({ milliseconds }) => milliseconds).sort((a, b) => a - b);
  return {
    perSecond: responses.length / seconds,
    median: times[Math.floor(times.length / 2)] ?? 0,
    bytes: Buffer.byteLength(responses[0]?.body ?? ""),
    failed: responses.filter(({ status }) => status >= 400).length,
  };
}
