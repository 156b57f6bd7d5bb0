import type { IncomingHttpHeaders } from "node:http";

/** Several values joined by `, `. Where none has several, as nearly always, they are not copied. */
export function flattenHeaders(headers: IncomingHttpHeaders): Readonly<Record<string, string>> {
  return isFlat(headers) ? headers : flatten(headers);
}

function isFlat(headers: IncomingHttpHeaders): headers is Record<string, string> {
  for (const name in headers) {
    if (typeof headers[name] !== "string") {
      return false;
    }
  }
  return true;
}

function flatten(headers: IncomingHttpHeaders): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) {
      flat[name] = Array.isArray(value) ? value.join(", ") : value;
    }
  }
  return flat;
}
