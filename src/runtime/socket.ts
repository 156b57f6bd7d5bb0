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
