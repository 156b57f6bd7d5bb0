import type { Json } from "../../http/json.js";
import { NETWORK_POLICIES } from "../policies.js";
import type { NetworkContext } from "./network-context.js";
import { isAllowed, ruleOf } from "./network-policy.js";
import type { NetworkResource } from "./network-resource.js";
import type { View } from "./records.js";

/** Renders the attributes that the caller may see. @param fields names of the requested ones; empty: all */
export function renderView(
  context: NetworkContext,
  resource: NetworkResource,
  view: View,
  fields: ReadonlySet<string> = new Set(),
): Json {
  const rendered: Record<string, Json> = {};
  const isRequested = (name: string) =>
    fields.size === 0 || fields.has(name) || resource.unfiltered?.includes(name) === true;
  for (const [name, value] of Object.entries(view)) {
    if (value !== undefined && isRequested(name) && isVisible(context, resource, name, view)) {
      rendered[name] = value;
    }
  }
  return rendered;
}

/** Attributes with a rule `get_network:segments` are hidden from callers whom it excludes. */
function isVisible(context: NetworkContext, resource: NetworkResource, name: string, view: View): boolean {
  const { policy = false, visible = true } = resource.attributes[name] ?? {};
  if (!policy || !visible) {
    return visible;
  }
  const rule = `${ruleOf("get", resource)}:${name}`;
  return !Object.hasOwn(NETWORK_POLICIES, rule) || isAllowed(context, rule, resource, view);
}
