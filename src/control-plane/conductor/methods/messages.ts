import { ConductorError } from "../../../conductor-client/errors.js";

/** Errors of the supervisor keep their text on the wire. */
export async function forwardErrorText<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ConductorError) {
      throw error;
    }
    throw new ConductorError(error instanceof Error ? error.message : String(error));
  }
}
