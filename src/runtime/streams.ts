/** Where a stream leads: a Unix socket, or a TCP port. */
export type StreamAddress = { readonly path: string } | { readonly host: string; readonly port: number };

/** A connected stream of bytes. */
export interface Stream {
  /** Resolves when the system has taken all of it. @throws {StreamFailure} it is broken: how much has arrived is unknown. */
  write(data: string | Uint8Array): Promise<void>;
  /** The bytes that came next; null: the other end has said all. @throws {StreamFailure} the signal's reason. */
  read(signal?: AbortSignal): Promise<Uint8Array | null>;
  /** The next line without its end; null: there is no other. @throws {StreamFailure} the signal's reason. */
  readLine(signal?: AbortSignal): Promise<string | null>;
  /** At once; what was not read is lost. */
  close(): void;
}

/** The one way to a Unix or TCP socket that speaks no HTTP. */
export interface Streams {
  /** @throws {StreamFailure} nobody listens there. The signal's reason. */
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
