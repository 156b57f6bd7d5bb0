import type { Writable } from "node:stream";
import type { WebSocket } from "ws";
import type { Logger } from "../runtime.js";
import { closingReason, type Socket, SocketInbox } from "../sockets.js";
import type { RequestQueue } from "./request-slots.js";

/** The connection below a WebSocket, and the queue that decides when buffered frames are flushed to it. */
interface Carrier {
  readonly stream: Pick<Writable, "cork" | "uncork">;
  readonly queue: Pick<RequestQueue, "goAhead">;
}

/** A WebSocket of the ws package. May exist before its connection is accepted; frames sent until then are queued. */
export class NodeSocket implements Socket {
  readonly #logger: Logger;
  readonly #inbox = new SocketInbox();
  #ws: WebSocket | undefined;
  #carrier: Carrier | undefined;
  #held = false;
  #early: ((ws: WebSocket) => void)[] = [];
  #dead = false;

  /**
   * @param logger logs errors thrown by listeners; such an error closes this connection but does not end the process.
   */
  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Attaches the open connection.
   * @param carrier batches the frames sent in one event-loop tick: they are flushed in one write, before the tick's
   * requests, since a write costs more than creating a frame. Absent: each frame is written immediately.
   */
  attach(ws: WebSocket, carrier?: Carrier): void {
    this.#ws = ws;
    this.#carrier = carrier;
    ws.on("message", (data, isBinary) => {
      if (isBinary) {
        ws.close(1003, "only text frames are accepted");
      } else {
        this.#guard(() => this.#inbox.message(data.toString()));
      }
    });
    ws.on("pong", () => this.#guard(() => this.#inbox.pong()));
    ws.on("close", (code, reason) => this.#guard(() => this.#inbox.closed(code, reason.toString())));
    // Every error (oversized frame, bad UTF-8, reset) is followed by a close event with the code and reason.
    ws.on("error", () => {});
    const early = this.#early;
    this.#early = [];
    for (const action of early) {
      action(ws);
    }
  }

  /** Closes the socket of a connection that will not be opened. */
  abandon(): void {
    this.#dead = true;
    this.#early = [];
    this.#guard(() => this.#inbox.closed(1006, ""));
  }

  get bufferedBytes(): number {
    return this.#ws?.bufferedAmount ?? 0;
  }

  send(text: string): void {
    this.#do((ws) => {
      if (ws.readyState === ws.OPEN) {
        this.#hold();
        ws.send(text);
      }
    });
  }

  /** Corks the stream until the queue has processed the arrivals of this event-loop tick. */
  #hold(): void {
    const carrier = this.#carrier;
    if (carrier !== undefined && !this.#held) {
      this.#held = true;
      carrier.stream.cork();
      carrier.queue.goAhead(() => {
        this.#held = false;
        carrier.stream.uncork();
      });
    }
  }

  afterTurn(action: () => void): void {
    setImmediate(() => this.#guard(action));
  }

  close(code = 1000, reason = ""): void {
    this.#do((ws) => ws.close(code, closingReason(reason)));
  }

  terminate(): void {
    this.#do((ws) => ws.terminate());
  }

  ping(): void {
    this.#do((ws) => {
      if (ws.readyState === ws.OPEN) {
        ws.ping();
      }
    });
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

  #guard(notify: () => void): void {
    try {
      notify();
    } catch (error) {
      this.#logger.error("a WebSocket listener threw an error; closing the connection", { err: error });
      this.close(1011, "unexpected error");
    }
  }

  #do(action: (ws: WebSocket) => void): void {
    if (this.#ws) {
      action(this.#ws);
    } else if (!this.#dead) {
      this.#early.push(action);
    }
  }
}
