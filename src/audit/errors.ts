import { hasNoResponse } from "../runtime/http.js";

export type AuditErrorCode =
  /**
   * clouds.yaml, OS_* variables or options are invalid. The message names the file, the line, the value found and the
   * expected one.
   */
  | "CloudConfigInvalid"
  /** No cloud is named, and the state directory has no cluster either. */
  | "NoLocalCloud"
  /** No service responds at the address. */
  | "CloudUnreachable"
  /** The catalog has no such service with that interface in that region. */
  | "EndpointNotFound"
  /** The endpoint does not speak the expected API, or its version is too old. */
  | "UnexpectedAnswer"
  /** A response that is not a success: 401 credentials, 403 a missing role, 404, 409 and so on. */
  | "CloudRefused"
  /** The plan is unreadable. The message names the file, the location and what was expected. */
  | "PlanUnreadable"
  /** The plan contains no edit of a selected object. */
  | "NotInPlan";

/** An error that a user can fix: credentials, configuration, plan, the cloud itself. Messages contain no secrets. */
export class AuditError extends Error {
  readonly code: AuditErrorCode;
  override readonly name: AuditErrorCode;
  /** The status of a response that is not a success. */
  readonly status: number | undefined;

  constructor(code: AuditErrorCode, message: string, { status, ...options }: AuditErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.name = code;
    this.status = status;
  }
}

interface AuditErrorOptions extends ErrorOptions {
  readonly status?: number;
}

/** Returns whether the error has one of these codes. */
export function isAuditError(error: unknown, ...codes: readonly AuditErrorCode[]): error is AuditError {
  return error instanceof AuditError && codes.includes(error.code);
}

/**
 * Maps connection failures of a request. @param whose names the request and what to check. @throws {AuditError}
 */
export async function reachable<T>(response: Promise<T>, whose: string): Promise<T> {
  try {
    return await response;
  } catch (error) {
    if (hasNoResponse(error)) {
      throw new AuditError("CloudUnreachable", `${error.message}: ${whose}`, { cause: error });
    }
    throw error;
  }
}
