import { VirtError } from "../../../src/virt/index.js";

/**
 * The meaning of a response for its caller. Status 409 alone has four meanings, which only its text distinguishes.
 * `locked` and `transition` pass; `associated` (another instance has the node) and `instance-elsewhere` (this instance
 * has another node) do not. `unreachable`: there was no response, so whether Ironic acted is unknown.
 */
export type IronicMeaning =
  | "unreachable"
  | "not-found"
  | "locked"
  | "transition"
  | "associated"
  | "instance-elsewhere"
  | "wrong-state"
  | "maintenance"
  | "no-worker"
  | "unauthorized"
  | "version"
  | "malformed"
  | "other";

/** Ironic rejected a request or failed, or did not respond. */
export class IronicError extends VirtError {
  override readonly name = "IronicError";
  readonly meaning: IronicMeaning;
  /** Null if there was no response. */
  readonly status: number | null;

  constructor(meaning: IronicMeaning, status: number | null, message: string, options?: ErrorOptions) {
    super(message, options);
    this.meaning = meaning;
    this.status = status;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns whether `error` is an IronicError with one of these meanings. */
export function means(error: unknown, ...meanings: readonly IronicMeaning[]): error is IronicError {
  return error instanceof IronicError && meanings.includes(error.meaning);
}

export function toIronicError(method: string, url: string, status: number, body: string): IronicError {
  const text = faultText(body);
  return new IronicError(
    meaningOf(status, text),
    status,
    `Ironic responded to ${method} ${url} with ${status}: ${text}`,
  );
}

/**
 * Extracts the message of `{"error_message": "<JSON text>"}`, which is parsed twice: its faultstring, or for 406 its
 * description.
 * @internal for tests
 */
export function faultText(body: string): string {
  const outer = parsed(body);
  const message = isRecord(outer) ? (outer.error_message ?? outer.error) : undefined;
  const inner = typeof message === "string" ? (parsed(message) ?? message) : message;
  if (isRecord(inner)) {
    const text = inner.faultstring ?? inner.description ?? inner.message ?? inner.title;
    if (typeof text === "string") {
      return text;
    }
  }
  return typeof inner === "string" ? inner : body.slice(0, 200);
}

function meaningOf(status: number, text: string): IronicMeaning {
  switch (status) {
    case 404:
      return "not-found";
    case 401:
    case 403:
      return "unauthorized";
    case 406:
      return "version";
    case 409:
      return conflictMeaning(text);
    case 400:
      if (text.includes("while it is in state")) {
        return "wrong-state";
      }
      return text.includes("in maintenance mode") ? "maintenance" : "other";
    case 503:
      return "no-worker";
    case 502:
    case 504:
      return "unreachable";
    default:
      return "other";
  }
}

function conflictMeaning(text: string): IronicMeaning {
  if (text.includes("is locked by host")) {
    return "locked";
  }
  if (text.includes("while a state transition is in progress")) {
    return "transition";
  }
  if (text.includes("is already associated with")) {
    return "instance-elsewhere";
  }
  return text.includes("is associated with instance") ? "associated" : "other";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
