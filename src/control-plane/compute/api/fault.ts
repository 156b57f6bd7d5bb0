import type { ServiceResponse } from "../../../runtime/service.js";

/** Names under which Nova's API reports errors; any other status is a `computeFault`. */
const FAULT_NAMES: Readonly<Record<number, string>> = {
  400: "badRequest",
  401: "unauthorized",
  403: "forbidden",
  404: "itemNotFound",
  405: "badMethod",
  409: "conflictingRequest",
  413: "overLimit",
  415: "badMediaType",
  429: "overLimit",
  501: "notImplemented",
  503: "serviceUnavailable",
};

/** An answer that is not what was asked for, worded as Nova words it. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }

  toResponse(): ServiceResponse {
    const body = { [FAULT_NAMES[this.status] ?? "computeFault"]: { code: this.status, message: this.message } };
    return {
      status: this.status,
      headers: { "content-type": "application/json; charset=UTF-8" },
      body: JSON.stringify(body),
    };
  }
}

export const badRequest = (message: string): Fault => new Fault(400, message);
export const notFound = (message = "The resource could not be found."): Fault => new Fault(404, message);
export const conflict = (message: string): Fault => new Fault(409, message);
