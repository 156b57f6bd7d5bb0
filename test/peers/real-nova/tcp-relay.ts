import { once } from "node:events";
import { type AddressInfo, createConnection, createServer, type Server, type Socket } from "node:net";

/** A loopback port that forwards to another one, until it is closed like a port of a host that has died. */
export class TcpRelay {
  readonly port: number;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #server: Server;

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
    this.port = (server.address() as AddressInfo).port;
    this.#serve();
  }

  static async to(target: number): Promise<TcpRelay> {
    return new TcpRelay(await listening(0), target);
  }

  /** Returns the number of current connections. */
  get connections(): number {
    return this.#sockets.size / 2;
  }

  /** Listens again after {@link close}; does nothing if it is listening. */
  async open(): Promise<void> {
    if (!this.#server.listening) {
      this.#server = await listening(this.port);
      this.#serve();
    }
  }

  async close(): Promise<void> {
    if (this.#server.listening) {
      const closed = once(this.#server, "close");
      this.#server.close();
      for (const socket of this.#sockets) {
        socket.destroy();
      }
      await closed;
    }
  }

  #serve(): void {
    this.#server.on("connection", (from) => {
      const to = createConnection(this.#target, "127.0.0.1");
      for (const [socket, other] of [
        [from, to],
        [to, from],
      ] as const) {
        this.#sockets.add(socket);
        socket.on("error", () => {});
        socket.on("close", () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
        socket.pipe(other);
      }
    });
  }
}

async function listening(port: number): Promise<Server> {
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}
