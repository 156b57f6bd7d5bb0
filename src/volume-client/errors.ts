import { PublicError } from "../runtime/error-messages.js";

/** Names of Nova's exceptions about Block Storage. */
export type VolumeErrorCode =
  /** No response: connection refused, reset or timed out, or no token. It is unknown whether Block Storage acted. */
  | "CinderConnectionFailed"
  /** There is no Block Storage service. */
  | "EndpointNotFound"
  | "VolumeNotFound"
  | "SnapshotNotFound"
  | "VolumeAttachmentNotFound"
  | "VolumeNotCreated"
  /** The request does not suit the state of the volume. */
  | "InvalidInput"
  | "Forbidden"
  | "OverQuota"
  /** The driver of this host has no volumes that several guests share. */
  | "MultiattachNotSupportedByVirtDriver";

/** An error of Block Storage, with Nova's message. */
export class VolumeError extends PublicError {
  override readonly name: VolumeErrorCode;

  constructor(code: VolumeErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = code;
  }
}

/** Block Storage responded with an error of its own. Users see only the name, as with Nova. */
export class ClientException extends Error {
  override readonly name = "ClientException";
  readonly status: number;

  constructor(status: number, message: string) {
    super(`${message} (HTTP ${status})`);
    this.status = status;
  }
}

/** @param codes default: any code */
export function isVolumeError(error: unknown, ...codes: readonly VolumeErrorCode[]): error is VolumeError {
  return error instanceof VolumeError && (codes.length === 0 || codes.includes(error.name));
}
