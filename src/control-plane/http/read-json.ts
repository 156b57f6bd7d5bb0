import type { ServiceRequest } from "../../runtime/service.js";
import { excessOf, MESSAGE_LIMITS } from "./listener-limits.js";

export type JsonBody =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "empty" }
  | { readonly kind: "too-large" }
  | { readonly kind: "not-json" }
  /** The content type says that it is something else. */
  | { readonly kind: "other-type"; readonly contentType: string };

export function readJson(request: Pick<ServiceRequest, "body" | "headers">): JsonBody {
  const { body } = request;
  const excess = excessOf(body, MESSAGE_LIMITS.nova);
  if (excess === "bytes" || excess === "members") {
    return { kind: "too-large" };
  }
  if (body === "") {
    return { kind: "empty" };
  }
  const contentType = (request.headers["content-type"] ?? "application/json").split(";")[0]?.trim().toLowerCase() ?? "";
  if (contentType !== "application/json") {
    return { kind: "other-type", contentType };
  }
  if (excess === "depth") {
    return { kind: "not-json" };
  }
  try {
    return { kind: "json", value: JSON.parse(body) };
  } catch {
    return { kind: "not-json" };
  }
}
