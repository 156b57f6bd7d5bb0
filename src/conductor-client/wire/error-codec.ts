import * as errors from "../errors.js";
import { RPC_CODES, type WireError } from "./frames.js";

type ErrorClass = new (message: string, data?: Readonly<Record<string, unknown>>) => errors.ConductorError;

/** Every class of `errors.ts` by its name, so that a new one cannot be forgotten here. */
const CLASSES: ReadonlyMap<string, ErrorClass> = new Map(Object.entries(errors));

/** An error as it is sent. Only errors that belong on the wire keep their text: others could show a person's data. */
export function encodeError(error: unknown): WireError {
  if (!(error instanceof errors.ConductorError)) {
    return {
      code: RPC_CODES.internalError,
      message: "internal error; the log of the process that was asked has the cause",
    };
  }
  const code = error instanceof errors.InvalidParameters ? RPC_CODES.invalidParams : RPC_CODES.application;
  return { code, message: error.message, data: { name: error.name, details: error.data } };
}

/** The error as the class it left as; one of an unknown name as a plain {@link errors.ConductorError}. */
export function decodeError(error: WireError): errors.ConductorError {
  const known = CLASSES.get(error.data?.name ?? "");
  if (known) {
    return new known(error.message, error.data?.details);
  }
  return new errors.ConductorError(error.message, { code: error.code, ...error.data?.details });
}
