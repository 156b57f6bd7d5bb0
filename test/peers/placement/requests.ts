import type { Json } from "./json-text.js";
import type { Step } from "./step.js";

export const newest = { "x-auth-token": "admin", "openstack-api-version": "placement 1.39" };

export function put(path: string, body?: Json): Step {
  return { method: "PUT", path, query: [], headers: newest, ...(body === undefined ? {} : { body }) };
}
