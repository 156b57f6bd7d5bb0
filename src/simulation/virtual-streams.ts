import { StreamInbox } from "../runtime/stream-inbox.js";
import { type Stream, type StreamAddress, StreamFailure, type Streams } from "../runtime/streams.js";
import type { VirtualProcess } from "./virtual-process.js";

/** One simulated process's way to the Unix sockets of its machine; TCP leads nowhere. */
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

/** Two ends of one stream; what the first reads comes through the doors of its process. */
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
