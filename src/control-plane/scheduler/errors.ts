import { PublicError, tracebackOf } from "../../runtime/error-messages.js";

/** Nova's reason whenever hosts are missing: it tells users nothing about the cloud. */
export const NOT_ENOUGH_HOSTS = "There are not enough hosts available.";

/** No host can take the instance. The message is Nova's; the explanation is for operators. */
export class NoValidHost extends PublicError {
  override readonly name = "NoValidHost";
  /** Counts of hosts by the reason for which they were passed over, for example; null: the message says it all. */
  readonly explanation: string | null;

  constructor(reason: string, explanation: string | null = null) {
    super(`No valid host was found. ${reason}`);
    this.explanation = explanation;
  }
}

/** Returns what operators are shown of an error in logs: the explanation where there is one. */
export function operatorReason(error: unknown): string {
  if (error instanceof NoValidHost && error.explanation !== null) {
    return `${error.message} ${error.explanation}`;
  }
  return error instanceof Error ? error.message : String(error);
}

/** Returns the `details` of a fault, which only administrators see: the explanation on a line of its own, then the stack. */
export function faultDetails(error: unknown): string | null {
  const stack = tracebackOf(error);
  return error instanceof NoValidHost && error.explanation !== null ? `${error.explanation}\n${stack}` : stack;
}

/** Returns a fault in one line for an operator, with the explanation that {@link faultDetails} put into its details. */
export function explainedFault({
  message,
  details,
}: {
  readonly message: string;
  readonly details?: string | null;
}): string {
  const [first = "", second = ""] = (details ?? "").split("\n");
  return second.startsWith(`NoValidHost: ${message}`) ? `${message} ${first}` : message;
}
