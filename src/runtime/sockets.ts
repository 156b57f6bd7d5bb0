/** A connected WebSocket with text frames. */
export interface Socket {
  /** Queues a frame. Frames sent after {@link close} are dropped. */
  send(text: string): void;
  /** Calls `action` after all ready microtasks and callbacks of this event-loop tick, before the loop waits again. */
  afterTurn(action: () => void): void;
  /** `code` defaults to 1000. */
  close(code?: number, reason?: string): void;
  /** Closes the connection without a closing handshake. */
  terminate(): void;
  /** Frames that arrive before the first listener is added are queued for it. */
  onMessage(listener: (text: string) => void): void;
  /** Calls `listener` once, also for a connection that broke (code 1006) or had closed before this call. */
  onClose(listener: (code: number, reason: string) => void): void;
  /** Sends a ping; the listeners of {@link onPong} are called when the pong arrives. */
  ping(): void;
  onPong(listener: () => void): void;
  /** Bytes queued and not yet passed to the kernel. */
  readonly bufferedBytes: number;
}

/** The only way to open a WebSocket. */
export interface Sockets {
  /**
   * @throws {HttpConnectFailure} when there was no response.
   * @throws {UpgradeRejectedError} when the server responded with a status other than 101.
   */
  connect(
    url: string,
    options?: { readonly headers?: Readonly<Record<string, string>>; readonly signal?: AbortSignal },
  ): Promise<Socket>;
}

export class UpgradeRejectedError extends Error {
  override readonly name = "UpgradeRefused";
  readonly url: string;
  readonly status: number;
  readonly body: string;

  constructor(url: string, status: number, body: string) {
    super(`${url} rejected the connection with ${status}${body ? `: ${body}` : ""}`);
    this.url = url;
    this.status = status;
    this.body = body;
  }
}

/** Dispatches a socket's events. Queues frames and the close event until a listener is added. */
export class SocketInbox {
  readonly #messageListeners: ((text: string) => void)[] = [];
  readonly #closeListeners: ((code: number, reason: string) => void)[] = [];
  readonly #pongListeners: (() => void)[] = [];
  #unread: string[] = [];
  #end: { readonly code: number; readonly reason: string } | undefined;

  onMessage(listener: (text: string) => void): void {
    this.#messageListeners.push(listener);
    const unread = this.#unread;
    this.#unread = [];
    for (const text of unread) {
      listener(text);
    }
  }

  onClose(listener: (code: number, reason: string) => void): void {
    if (this.#end) {
      listener(this.#end.code, this.#end.reason);
    } else {
      this.#closeListeners.push(listener);
    }
  }

  onPong(listener: () => void): void {
    this.#pongListeners.push(listener);
  }

  message(text: string): void {
    if (this.#messageListeners.length === 0) {
      this.#unread.push(text);
      return;
    }
    for (const listener of this.#messageListeners) {
      listener(text);
    }
  }

  closed(code: number, reason: string): void {
    if (this.#end) {
      return;
    }
    this.#end = { code, reason };
    for (const listener of this.#closeListeners) {
      listener(code, reason);
    }
  }

  pong(): void {
    for (const listener of this.#pongListeners) {
      listener();
    }
  }
}

/** Truncates a reason to the limit of a closing frame: 123 bytes of UTF-8. */
export function closingReason(reason: string): string {
  let text = reason;
  while (Buffer.byteLength(text) > 123) {
    text = text.slice(0, -1);
  }
  return text;
}
