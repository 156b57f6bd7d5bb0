import { HttpConnectFailure } from "../runtime/http.js";
import { CLIENT_FRAME_BYTES } from "../runtime/http-server.js";
import { type Socket, type Sockets, UpgradeRejectedError } from "../runtime/sockets.js";
import { type Stream, type StreamAddress, StreamFailure, StreamInbox, type Streams } from "../runtime/streams.js";
import type { VirtualNetwork } from "./virtual-network.js";
import type { VirtualProcess } from "./virtual-process.js";
import type { VirtualListener } from "./virtual-servers.js";
import { VirtualSocket } from "./virtual-socket.js";

interface Outcome {
  readonly resolve: (socket: Socket) => void;
  readonly reject: (error: unknown) => void;
}

/** Opens WebSockets to the listeners of the same virtual world. */
export class VirtualSockets implements Sockets {
  readonly #process: VirtualProcess;
  readonly #network: VirtualNetwork<VirtualListener>;

  constructor(process: VirtualProcess, network: VirtualNetwork<VirtualListener>) {
    this.#process = process;
    this.#network = network;
  }

  async connect(
    url: string,
    options: { readonly headers?: Readonly<Record<string, string>>; readonly signal?: AbortSignal } = {},
  ): Promise<Socket> {
    const { headers = {}, signal } = options;
    return this.#process.whileAlive(() => {
      signal?.throwIfAborted();
      return new Promise<Socket>((resolve, reject) => {
        const abort = () => reject(signal?.reason);
        signal?.addEventListener("abort", abort, { once: true });
        this.#open(url, headers, {
          resolve: (socket) => {
            if (signal?.aborted) {
              socket.terminate();
            }
            signal?.removeEventListener("abort", abort);
            resolve(socket);
          },
          reject: (error) => {
            signal?.removeEventListener("abort", abort);
            reject(error);
          },
        });
      });
    });
  }

  #open(url: string, headers: Readonly<Record<string, string>>, outcome: Outcome): void {
    const target = new URL(url);
    const fault = this.#network.strike({ from: this.#process.name, method: "GET", url });
    const listener = this.#network.find(target);
    if (fault?.kind === "answer") {
      const { status, body } = fault.response;
      this.#process.after(this.#network.latency, () => outcome.reject(new UpgradeRejectedError(url, status, body)));
      return;
    }
    if (fault?.kind === "lose-request") {
      return;
    }
    if (fault?.kind === "refuse" || !listener) {
      const code = (fault?.kind === "refuse" ? fault.code : undefined) ?? "ECONNREFUSED";
      this.#process.after(this.#network.latency, () => outcome.reject(new HttpConnectFailure(url, code)));
      return;
    }
    const server = listener.process;
    const [there, back] = [this.#network.wire(this.#process, server), this.#network.wire(server, this.#process)];
    const breakOff = () => back.send(() => outcome.reject(new HttpConnectFailure(url, "ECONNRESET")));
    const forget = server.onKill(breakOff);
    const arrive = () => {
      forget();
      if (!server.alive) {
        return;
      }
      const acceptor = listener.acceptors[target.pathname];
      const accepted = new VirtualSocket(server, back, listener.limits.frameBytes);
      const origin = `${target.protocol.replace("ws", "http")}//${target.host}`;
      const upgrade = { headers, query: target.search.slice(1), origin };
      const rejection = acceptor ? acceptor(accepted, upgrade) : "not found";
      if (rejection !== undefined) {
        accepted.abandon();
        const status = acceptor ? 401 : 404;
        back.send(() => outcome.reject(new UpgradeRejectedError(url, status, rejection)));
        return;
      }
      const clientSocket = new VirtualSocket(this.#process, there, CLIENT_FRAME_BYTES);
      VirtualSocket.pair(accepted, clientSocket);
      listener.track(accepted);
      const connection = { from: this.#process.name, to: server.name, sever: () => clientSocket.sever() };
      accepted.onClose(this.#network.connected(connection));
      if (fault?.kind === "lose-answer") {
        accepted.terminate();
        breakOff();
        return;
      }
      back.send(() => outcome.resolve(clientSocket), fault?.kind === "latency" ? fault.milliseconds : 0);
    };
    there.send(arrive, fault?.kind === "late-request" ? fault.milliseconds : 0);
  }
}

/** Connects a simulated process to the Unix sockets of its machine. TCP connections are refused. */
export class VirtualStreams implements Streams {
  readonly #process: VirtualProcess;

  constructor(process: VirtualProcess) {
    this.#process = process;
  }

  async connect(
    address: StreamAddress,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Stream> {
    signal?.throwIfAborted();
    return this.#process.withLatency(() => {
      const accept = "path" in address ? this.#process.machine.programs.listener(address.path) : undefined;
      if (!accept) {
        throw new StreamFailure(address, "path" in address ? "ENOENT" : "ECONNREFUSED");
      }
      const [here, there] = streamPair(address, this.#process);
      this.#process.onKill(() => here.close());
      accept(there);
      return here;
    });
  }
}

/** Creates the two ends of a stream. Reads at the first end count as deliveries to its process. */
function streamPair(address: StreamAddress, process: VirtualProcess): readonly [Stream, Stream] {
  const [here, there] = [new StreamInbox(), new StreamInbox()];
  let open = true;
  const endOf = (own: StreamInbox, other: StreamInbox, arrives: <T>(work: Promise<T>) => Promise<T>): Stream => ({
    write: async (data) => {
      if (!open) {
        throw new StreamFailure(address, "EPIPE");
      }
      other.push(typeof data === "string" ? Buffer.from(data) : data);
    },
    read: (signal) => arrives(own.read(signal)),
    readLine: (signal) => arrives(own.readLine(signal)),
    close: () => {
      open = false;
      here.end();
      there.end();
    },
  });
  return [endOf(here, there, (work) => process.whileAlive(() => work)), endOf(there, here, (work) => work)];
}
