/** `code` of an error answer, from microversion 1.23 on. */
export const ErrorCode = {
  undefinedCode: "placement.undefined_code",
  inventoryInUse: "placement.inventory.inuse",
  concurrentUpdate: "placement.concurrent_update",
  duplicateName: "placement.duplicate_name",
  providerInUse: "placement.resource_provider.inuse",
  cannotDeleteParent: "placement.resource_provider.cannot_delete_parent",
  providerNotFound: "placement.resource_provider.not_found",
  duplicateQueryKey: "placement.query.duplicate_key",
  badQueryValue: "placement.query.bad_value",
  missingQueryValue: "placement.query.missing_value",
} as const;

/** An answer of 400 and above. `detail` is what the real Placement writes after its general explanation. */
export class HttpError extends Error {
  override readonly name = "HttpError";
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, detail: string, code: string = ErrorCode.undefinedCode, headers = {}) {
    super(detail);
    this.status = status;
    this.detail = detail;
    this.code = code;
    this.headers = headers;
  }
}

export function badRequest(detail: string, code?: string): HttpError {
  return new HttpError(400, detail, code);
}

export function notFound(detail: string): HttpError {
  return new HttpError(404, detail);
}

export function conflict(detail: string, code?: string): HttpError {
  return new HttpError(409, detail, code);
}
