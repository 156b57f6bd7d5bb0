/** A connected WebSocket that carries text frames. */
export interface Socket {
  /** Queues a frame. Frames after {@link close} are dropped. */
  send(text: string): void;
  /** Calls `action` when all that is ready to run has had its turn, and before anything is waited for. */
  afterTurn(action: () => void): void;
  /** 1000 by default. */
  close(code?: number, reason?: string): void;
  /** Cuts the connection without a closing handshake. */
  terminate(): void;
  /** Frames that came before the first listener are kept for it. */
  onMessage(listener: (text: string) => void): void;
  /** Called once, also for a connection that broke (code 1006) and for one that had closed before the call. */
  onClose(listener: (code: number, reason: string) => void): void;
  /** Sends a ping; `onPong` is called with the answer. */
  ping(): void;
  onPong(listener: () => void): void;
  /** Bytes queued and not yet handed to the kernel. */
  readonly bufferedBytes: number;
}

/** The one way to open a WebSocket. */
export interface Sockets {
  /**
   * @throws {HttpConnectFailure} when nothing answered.
   * @throws {UpgradeRejectedError} when the server answered with something else than 101.
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
    super(`${url} refused the connection with ${status}${body ? `: ${body}` : ""}`);
    this.url = url;
    this.status = status;
    this.body = body;
  }
}

/** What a socket tells its owner: keeps frames and the end until someone listens. */
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

/** The most that fits into a closing frame: 123 bytes of UTF-8. */
export function closingReason(reason: string): string {
  let text = reason;
  while (Buffer.byteLength(text) > 123) {
    text = text.slice(0, -1);
  }
  return text;
}
