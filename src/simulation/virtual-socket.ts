import { closingReason, type Socket, SocketInbox } from "../runtime/sockets.js";
import type { Wire } from "./virtual-network.js";
import type { VirtualProcess } from "./virtual-process.js";

/** As in ws: milliseconds that the closing end waits for the closing frame of the other end. */
const CLOSING_HANDSHAKE_TIMEOUT = 30_000;

/** One end of a WebSocket between two simulated processes. */
export class VirtualSocket implements Socket {
  readonly #process: VirtualProcess;
  readonly #wire: Wire;
  readonly #largestFrame: number;
  readonly #inbox = new SocketInbox();
  readonly #forgetKill: () => void;
  #peer: VirtualSocket | undefined;
  #state: "open" | "closing" | "closed" = "open";
  #underWay = 0;

  /**
   * @param wire towards the other end.
   * @param largestFrame max bytes of a frame that this end accepts.
   */
  constructor(process: VirtualProcess, wire: Wire, largestFrame: number) {
    this.#process = process;
    this.#wire = wire;
    this.#largestFrame = largestFrame;
    this.#forgetKill = process.onKill(() => this.#break());
  }

  /** Connects two ends. */
  static pair(one: VirtualSocket, other: VirtualSocket): void {
    one.#peer = other;
    other.#peer = one;
  }

  /** Breaks the connection: both ends are notified, and messages in transit are lost. */
  sever(): void {
    for (const end of this.#peer ? [this, this.#peer] : [this]) {
      end.#wire.lose();
      end.#process.after(0, () => end.#end(1006, ""));
    }
  }

  /** Closes the socket of a connection that will not be opened. */
  abandon(): void {
    this.#end(1006, "");
  }

  get bufferedBytes(): number {
    return this.#underWay;
  }

  send(text: string): void {
    if (this.#state !== "open" || !this.#process.alive) {
      return;
    }
    const bytes = Buffer.byteLength(text);
    this.#underWay += bytes;
    this.#sendToPeer((peer) => {
      this.#underWay -= bytes;
      peer.#receive(text, bytes);
    });
  }

  afterTurn(action: () => void): void {
    void Promise.resolve().then(action);
  }

  close(code = 1000, reason = ""): void {
    if (this.#state !== "open" || !this.#process.alive) {
      return;
    }
    this.#state = "closing";
    const sent = closingReason(reason);
    this.#sendToPeer((peer) => peer.#receiveClose(code, sent));
    this.#process.after(CLOSING_HANDSHAKE_TIMEOUT, () => this.#end(1006, ""));
  }

  terminate(): void {
    if (this.#state !== "closed" && this.#process.alive) {
      this.#break();
      this.#process.after(0, () => this.#inbox.closed(1006, ""));
    }
  }

  ping(): void {
    if (this.#state === "open" && this.#process.alive) {
      this.#sendToPeer((peer) => peer.#receivePing());
    }
  }

  onMessage(listener: (text: string) => void): void {
    this.#inbox.onMessage(listener);
  }

  onClose(listener: (code: number, reason: string) => void): void {
    this.#inbox.onClose(listener);
  }

  onPong(listener: () => void): void {
    this.#inbox.onPong(listener);
  }

  #receive(text: string, bytes: number): void {
    if (this.#state === "closed" || !this.#process.alive || !this.#process.pass()) {
      this.#reset();
    } else if (bytes > this.#largestFrame) {
      this.#sendToPeer((peer) => peer.#receiveClose(1009, ""));
      this.#end(1006, "");
    } else {
      this.#inbox.message(text);
    }
  }

  #receiveClose(code: number, reason: string): void {
    if (this.#state === "open") {
      this.#sendToPeer((peer) => peer.#receiveClose(code, reason));
    }
    this.#end(code, reason);
  }

  #receivePing(): void {
    if (this.#state === "closed" || !this.#process.alive) {
      this.#reset();
    } else {
      this.#sendToPeer((peer) => peer.#receivePong());
    }
  }

  #receivePong(): void {
    if (this.#state !== "closed" && this.#process.alive) {
      this.#inbox.pong();
    }
  }

  /** Breaks the connection without notifying the owner; the other end sees it break. */
  #break(): void {
    this.#state = "closed";
    this.#forgetKill();
    this.#reset();
  }

  #sendToPeer(arrive: (peer: VirtualSocket) => void): void {
    this.#wire.send(() => {
      if (this.#peer) {
        arrive(this.#peer);
      }
    });
  }

  #reset(): void {
    this.#sendToPeer((peer) => peer.#end(1006, ""));
  }

  #end(code: number, reason: string): void {
    if (this.#state === "closed") {
      return;
    }
    this.#state = "closed";
    this.#forgetKill();
    if (this.#process.alive) {
      this.#inbox.closed(code, reason);
    }
  }
}
