import type { ServiceRequest } from "../../runtime/service.js";
import { isObject } from "./json.js";

/** Bytes; `[oslo_middleware] max_request_body_size`. */
export const MAX_REQUEST_BODY = 114_688;

/** Nothing that a client has reason to send is nested deeper. */
const MAX_DEPTH = 32;

export type JsonBody =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "empty" }
  | { readonly kind: "too-large" }
  | { readonly kind: "not-json" }
  /** The content type says that it is something else. */
  | { readonly kind: "other-type"; readonly contentType: string };

export const readJson = (request: Pick<ServiceRequest, "body" | "headers">): JsonBody => {
  const { body } = request;
  if (body.length > MAX_REQUEST_BODY || Buffer.byteLength(body) > MAX_REQUEST_BODY) return { kind: "too-large" };
  if (body === "") return { kind: "empty" };
  const contentType = (request.headers["content-type"] ?? "application/json").split(";")[0]?.trim().toLowerCase() ?? "";
  if (contentType !== "application/json") return { kind: "other-type", contentType };
  try {
    const value: unknown = JSON.parse(body);
    return deeperThan(value, MAX_DEPTH) ? { kind: "not-json" } : { kind: "json", value };
  } catch {
    return { kind: "not-json" };
  }
};

const deeperThan = (value: unknown, levels: number): boolean => {
  if (!Array.isArray(value) && !isObject(value)) return false;
  return levels === 0 || Object.values(value).some((item) => deeperThan(item, levels - 1));
};
