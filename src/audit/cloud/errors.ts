import { HttpConnectFailure, HttpTimeout } from "../../runtime/http.js";

/** Base of errors that a user can fix: credentials, configuration, the cloud itself. Messages contain no secrets. */
export class CloudError extends Error {
  override readonly name: string = "CloudError";
}

/**
 * clouds.yaml, OS_* variables or options are invalid. The message names the file, the line, the value found and the
 * expected one.
 */
export class CloudConfigInvalid extends CloudError {
  override readonly name = "CloudConfigInvalid";
}

/** No cloud is named, and the state directory has no cluster either. */
export class NoLocalCloud extends CloudError {
  override readonly name = "NoLocalCloud";
}

/** No service responds at the address. @internal */
export class CloudUnreachable extends CloudError {
  override readonly name = "CloudUnreachable";
}

/** The catalog has no such service with that interface in that region. */
export class EndpointNotFound extends CloudError {
  override readonly name = "EndpointNotFound";
}

/** The endpoint does not speak the expected API, or its version is too old. */
export class UnexpectedResponseError extends CloudError {
  override readonly name = "UnexpectedAnswer";
}

/** A response that is not a success: 401 credentials, 403 a missing role, 404, 409 and so on. */
export class CloudRejectedError extends CloudError {
  override readonly name = "CloudRefused";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Maps connection failures of a request. @param whose names the request and what to check. @throws {CloudUnreachable}
 */
export async function reachable<T>(response: Promise<T>, whose: string): Promise<T> {
  try {
    return await response;
  } catch (error) {
    if (error instanceof HttpConnectFailure || error instanceof HttpTimeout) {
      throw new CloudUnreachable(`${error.message}: ${whose}`, { cause: error });
    }
    throw error;
  }
}
