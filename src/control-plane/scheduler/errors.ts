import { messageOf, PublicError, tracebackOf } from "../../runtime/error-messages.js";

/** Nova's reason whenever no host is available. It reveals nothing about the cloud to users. */
export const NOT_ENOUGH_HOSTS = "There are not enough hosts available.";

/** No host can take the instance. The message is Nova's; the explanation is for operators. */
export class NoValidHost extends PublicError {
  override readonly name = "NoValidHost";
  /** For example counts of hosts by rejection reason; null if the message is sufficient. */
  readonly explanation: string | null;

  constructor(reason: string, explanation: string | null = null) {
    super(`No valid host was found. ${reason}`);
    this.explanation = explanation;
  }
}

/** Returns an error's text for operators' logs, with the explanation if there is one. */
export function operatorReason(error: unknown): string {
  if (error instanceof NoValidHost && error.explanation !== null) {
    return `${error.message} ${error.explanation}`;
  }
  return messageOf(error);
}

/** Returns the `details` of a fault, which only administrators can read: the explanation on its own line, then the stack. */
export function faultDetails(error: unknown): string | null {
  const stack = tracebackOf(error);
  return error instanceof NoValidHost && error.explanation !== null ? `${error.explanation}\n${stack}` : stack;
}

/** Returns a fault in one line for operators, with the explanation from the details of {@link faultDetails}. */
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
