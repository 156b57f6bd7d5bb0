import type { HttpError } from "../../../../../src/control-plane/http/http-error.js";

export const INTERNAL_ERROR = "500 Request Failed: internal server error while processing your request.";

/** Runs a function that throws an `HttpError`. Returns its code, or else its status, and its message. */
export function errorOf(run: () => unknown): string {
  try {
    return `no error: ${run()}`;
  } catch (error) {
    const { code, status, message } = error as HttpError;
    return `${code ?? status} ${message}`;
  }
}
