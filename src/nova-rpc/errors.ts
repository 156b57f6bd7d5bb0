export type NovaRpcErrorCode =
  /** The received message is not one of oslo.messaging. The text has no content of it, which may contain passwords. */
  | "MalformedMessage"
  /** The received value is not an object, or not of the expected kind. */
  | "MalformedObject"
  /** The control plane cannot read the object, even without its newer fields. */
  | "ObjectTooNew"
  /** `[DEFAULT] transport_url` is invalid; the text never contains the password. */
  | "InvalidTransportUrl"
  /** This agent does not implement the operation; the API responds with 501 or 409. */
  | "NotImplementedHere"
  /** The API handles this class specially. */
  | "ConsoleTypeUnavailable"
  | "NoSuchMethod"
  | "UnsupportedVersion";

/** An error of the connection to a real Nova. */
export class NovaRpcError extends Error {
  readonly code: NovaRpcErrorCode;
  override readonly name: NovaRpcErrorCode;

  constructor(code: NovaRpcErrorCode, message: string) {
    super(message);
    this.code = code;
    this.name = code;
  }
}
