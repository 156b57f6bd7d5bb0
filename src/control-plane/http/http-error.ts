/** An error response. Each service renders it in the format of its own API. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  /** Name of the error for programs, in the APIs that have one: `placement.concurrent_update`, `PortNotFound`. */
  readonly code: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, options: Partial<Pick<HttpError, "code" | "headers">> = {}) {
    super(message);
    this.status = status;
    this.code = options.code;
    this.headers = options.headers ?? NO_HEADERS;
  }
}

const NO_HEADERS: Readonly<Record<string, string>> = {};

export function badRequest(message: string, code?: string): HttpError {
  return new HttpError(400, message, { code });
}

export function forbidden(message: string): HttpError {
  return new HttpError(403, message);
}

export function notFound(message = "The resource could not be found."): HttpError {
  return new HttpError(404, message);
}

export function conflict(message: string, code?: string): HttpError {
  return new HttpError(409, message, { code });
}

export function tooLarge(message: string): HttpError {
  return new HttpError(413, message);
}
