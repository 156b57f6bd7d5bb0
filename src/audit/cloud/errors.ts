import { HttpConnectFailure, HttpTimeout } from "../../runtime/http.js";

/** Base of what a person can mend: credentials, configuration, the cloud itself. No message holds a secret. */
export class CloudError extends Error {
  override readonly name: string = "CloudError";
}

/** clouds.yaml, OS_* variables or options: the message names the file and the line, what was found and what was expected. */
export class CloudConfigInvalid extends CloudError {
  override readonly name = "CloudConfigInvalid";
}

/** Nothing names a cloud, and the state directory has none either. */
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

/** What answers there does not speak the expected API, or is too old for it. */
export class UnexpectedResponseError extends CloudError {
  override readonly name = "UnexpectedAnswer";
}

/** An answer that is no success: 401 credentials, 403 a missing role, 404, 409 and so on. */
export class CloudRejectedError extends CloudError {
  override readonly name = "CloudRefused";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** @param whose what was asked, and what to check. @throws {CloudUnreachable} */
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
