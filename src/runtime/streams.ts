/** The address of a stream: a Unix socket or a TCP port. */
export type StreamAddress = { readonly path: string } | { readonly host: string; readonly port: number };

/** A connected byte stream. */
export interface Stream {
  /**
   * Resolves when the kernel has accepted all bytes.
   * @throws {StreamFailure} when the stream is broken; the number of delivered bytes is unknown.
   */
  write(data: string | Uint8Array): Promise<void>;
  /**
   * Returns the next bytes, or null at the end of the stream.
   * @throws {StreamFailure} or the signal's reason.
   */
  read(signal?: AbortSignal): Promise<Uint8Array | null>;
  /**
   * Returns the next line without its line end, or null at the end of the stream.
   * @throws {StreamFailure} or the signal's reason.
   */
  readLine(signal?: AbortSignal): Promise<string | null>;
  /** Closes the stream immediately; unread bytes are lost. */
  close(): void;
}

/** The only way to connect to a Unix or TCP socket that does not speak HTTP. */
export interface Streams {
  /** @throws {StreamFailure} when there is no listener at the address, or the signal's reason. */
  connect(address: StreamAddress, options?: { readonly signal?: AbortSignal | undefined }): Promise<Stream>;
}

export class StreamFailure extends Error {
  override readonly name = "StreamFailure";
  /** `ENOENT`, `ECONNREFUSED`, `ECONNRESET`, `EPIPE` … */
  readonly code: string;

  constructor(address: StreamAddress, code: string, options?: ErrorOptions) {
    super(`${"path" in address ? address.path : `${address.host}:${address.port}`}: ${code}`, options);
    this.code = code;
  }
}

const NEWLINE = 0x0a;

/** Buffers received bytes until they are read, as bytes or lines. One reader at a time. */
export class StreamInbox {
  #unread: Uint8Array = new Uint8Array();
  #ended = false;
  #failure: Error | undefined;
  #wake: () => void = () => {};

  push(bytes: Uint8Array): void {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    this.#wake();
  }

  /** Marks the end of the stream. */
  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** Fails the stream. Bytes received before can still be read. */
  fail(error: Error): void {
    this.#failure ??= error;
    this.#wake();
  }

  async read(signal?: AbortSignal): Promise<Uint8Array | null> {
    for (;;) {
      if (this.#unread.length > 0) {
        return this.#take(this.#unread.length);
      }
      if (this.#isOver()) {
        return null;
      }
      await this.#more(signal);
    }
  }

  async readLine(signal?: AbortSignal): Promise<string | null> {
    for (;;) {
      const end = this.#unread.indexOf(NEWLINE);
      if (end >= 0) {
        return Buffer.from(this.#take(end + 1).subarray(0, end))
          .toString("utf8")
          .replace(/\r$/, "");
      }
      if (this.#isOver()) {
        return this.#unread.length > 0 ? Buffer.from(this.#take(this.#unread.length)).toString("utf8") : null;
      }
      await this.#more(signal);
    }
  }

  #take(length: number): Uint8Array {
    const taken = this.#unread.subarray(0, length);
    this.#unread = this.#unread.subarray(length);
    return taken;
  }

  /** @throws the error that broke the stream. */
  #isOver(): boolean {
    if (this.#failure) {
      throw this.#failure;
    }
    return this.#ended;
  }

  async #more(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const abort = () => reject(signal?.reason);
      signal?.addEventListener("abort", abort, { once: true });
      this.#wake = () => {
        signal?.removeEventListener("abort", abort);
        resolve();
      };
    });
  }
}
