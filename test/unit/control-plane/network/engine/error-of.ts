import type { HttpError } from "../../../../../src/control-plane/http/http-error.js";

/** Neutron itself fails, with 500. */
export const UNEXPECTED_TYPE = "400 The request has a value of an unexpected type.";

/** Runs a function that throws an `HttpError`. Returns its code, or else its status, and its message. */
export function errorOf(run: () => unknown): string {
  try {
    return `no error: ${run()}`;
  } catch (error) {
    const { code, status, message } = error as HttpError;
    return `${code ?? status} ${message}`;
  }
}
