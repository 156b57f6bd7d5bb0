/** Base of errors whose message every user may read. That of any other error may contain a secret: a URL with a password, for example. */
export class PublicError extends Error {
  /** The part of the error that a user may read. */
  get publicMessage(): string {
    return this.message || this.name;
  }
}

/** Returns the message of a {@link PublicError}; of any other error the name of its class. */
export function publicMessageOf(error: unknown): string {
  return error instanceof PublicError ? error.publicMessage : classNameOf(error);
}

function classNameOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return "Error";
  }
  return error.name === "Error" ? error.constructor.name : error.name;
}

/** Returns the stacks of an error and of its causes, which only administrators may read; null for what is no Error. */
export function tracebackOf(error: unknown): string | null {
  const stacks = stacksOf(error, MAX_CAUSES);
  return stacks.length === 0 ? null : stacks.join("\nCaused by: ");
}

/** A chain of causes may be a circle. */
const MAX_CAUSES = 10;

function stacksOf(error: unknown, limit: number): readonly string[] {
  if (!(error instanceof Error) || limit === 0) {
    return [];
  }
  const causes = error instanceof AggregateError ? error.errors : [error.cause];
  const own = error.stack || `${error.name}: ${error.message}`;
  return [own, ...causes.flatMap((cause) => stacksOf(cause, limit - 1))];
}
