import { connect, type Socket } from "node:net";
import { type Stream, type StreamAddress, StreamFailure, StreamInbox, type Streams } from "../streams.js";

export function nodeStreams(): Streams {
  return {
    connect: async (address, { signal } = {}) => {
      signal?.throwIfAborted();
      const socket = "path" in address ? connect({ path: address.path }) : connect(address.port, address.host);
      socket.setNoDelay(true);
      await connected(socket, address, signal);
      return new NodeStream(socket, address);
    },
  };
}

/** @throws {StreamFailure} or the signal's reason. */
async function connected(socket: Socket, address: StreamAddress, signal: AbortSignal | undefined): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const abort = () => {
      socket.destroy();
      reject(signal?.reason);
    };
    const failed = (error: Error) => {
      signal?.removeEventListener("abort", abort);
      reject(failure(address, error));
    };
    socket.once("error", failed);
    socket.once("connect", () => {
      signal?.removeEventListener("abort", abort);
      socket.off("error", failed);
      resolve();
    });
    signal?.addEventListener("abort", abort, { once: true });
  });
}

class NodeStream implements Stream {
  readonly #socket: Socket;
  readonly #address: StreamAddress;
  readonly #inbox = new StreamInbox();

  constructor(socket: Socket, address: StreamAddress) {
    this.#socket = socket;
    this.#address = address;
    socket.on("data", (bytes: Buffer) => this.#inbox.push(bytes));
    socket.on("end", () => this.#inbox.end());
    socket.on("error", (error) => this.#inbox.fail(failure(address, error)));
    socket.on("close", () => this.#inbox.end());
  }

  async write(data: string | Uint8Array): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#socket.write(data, (error) => (error ? reject(failure(this.#address, error)) : resolve()));
    });
  }

  read(signal?: AbortSignal): Promise<Uint8Array | null> {
    return this.#inbox.read(signal);
  }

  readLine(signal?: AbortSignal): Promise<string | null> {
    return this.#inbox.readLine(signal);
  }

  close(): void {
    this.#socket.destroy();
  }
}

function failure(address: StreamAddress, error: Error): StreamFailure {
  const code = "code" in error ? String(error.code) : error.message;
  return new StreamFailure(address, code, { cause: error });
}
