import { type ConductorErrorCode, isConductorError } from "../conductor-client/errors.js";

/** An error of the conductor by its code, any other by its class. */
type ErrorKind = ConductorErrorCode | (abstract new (...args: never) => Error);

/**
 * Creates a callback for `catch` that ignores these errors, and rethrows all others.
 * @param report called with an ignored error
 */
export function ignore(
  kinds: ErrorKind | readonly ErrorKind[],
  report?: (error: unknown) => void,
): (error: unknown) => undefined {
  return (error) => {
    const isIgnored = [kinds]
      .flat()
      .some((kind) => (typeof kind === "string" ? isConductorError(error, kind) : error instanceof kind));
    if (!isIgnored) {
      throw error;
    }
    report?.(error);
    return undefined;
  };
}
