import type { WebSocket } from "ws";
import type { Logger } from "../runtime.js";
import { closingReason, type Socket, SocketInbox } from "../sockets.js";

/** A WebSocket of the ws package. May exist before its connection is accepted; frames sent until then are queued. */
export class NodeSocket implements Socket {
  readonly #logger: Logger;
  readonly #inbox = new SocketInbox();
  #ws: WebSocket | undefined;
  #early: ((ws: WebSocket) => void)[] = [];
  #dead = false;

  /**
   * @param logger logs errors thrown by listeners; such an error closes this connection but does not end the process.
   */
  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Attaches the open connection. */
  attach(ws: WebSocket): void {
    this.#ws = ws;
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
        ws.send(text);
      }
    });
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
