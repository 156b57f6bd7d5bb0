import { BrokerRejectedError } from "../message-broker.js";

/** Answers of a broker that stay the same when it is asked again. */
const FINAL = new Set(["ACCESS_REFUSED", "PRECONDITION_FAILED", "RESOURCE_LOCKED", "NOT_ALLOWED"]);

export function isFinalRejection(error: unknown): boolean {
  return FINAL.has(codeOf(error) ?? "");
}

/** AMQP's name of the error, or the system's. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

export function toRejection(error: unknown, what: string): BrokerRejectedError {
  return new BrokerRejectedError(codeOf(error) ?? "UNKNOWN", `${what}: ${messageOf(error)}`);
}

/** Without the names of methods that the library puts before it, or that it does not know. */
export function messageOf(error: unknown): string {
  return error instanceof Error
    ? error.message.replace(/^(undefined|(Connection|Channel|Exchange|Queue|Basic)\w+): /, "")
    : String(error);
}
