import type { ServiceRequest, ServiceResponse } from "../../../runtime/service.js";
import { withHeaders } from "../../http/responses.js";
import { errorPage } from "./error-page.js";

/** An answer that is not what was asked for, worded as Glance words it. */
export class ImageFault extends Error {
  override readonly name = "ImageFault";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }

  toResponse({ headers }: Pick<ServiceRequest, "headers">): ServiceResponse {
    return withHeaders(errorPage(this.status, this.message, headers.accept), this.headers);
  }
}

export const badRequest = (message: string): ImageFault => new ImageFault(400, message);
export const forbidden = (message: string): ImageFault => new ImageFault(403, message);
export const notFound = (message = "The resource could not be found."): ImageFault => new ImageFault(404, message);
export const conflict = (message: string): ImageFault => new ImageFault(409, message);
export const tooLarge = (message: string): ImageFault => new ImageFault(413, message);
