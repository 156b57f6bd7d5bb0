import type { Call, ComputeResponse } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireAdmin } from "../api/policy.js";
import { classLimits } from "./limits-of.js";
import { listClassResources, only } from "./resources.js";
import { UPDATE_CLASS } from "./schemas.js";

const policy = (what: string): string => `os_compute_api:os-quota-class-sets:${what}`;

export function showClass(deps: ComputeDeps, call: Call): ComputeResponse {
  requireAdmin(call, policy("show"));
  const name = call.param("name");
  return {
    body: { quota_class_set: { id: name, ...only(listClassResources(call.version), classLimits(deps, name)) } },
  };
}

/** The class `default` is what projects have for which nobody has set anything. */
export function updateClass(deps: ComputeDeps, call: Call): ComputeResponse {
  const { quota_class_set: limits } = call.body(UPDATE_CLASS);
  requireAdmin(call, policy("update"));
  const name = call.param("name");
  const { store } = deps;
  store.transaction(() => {
    for (const [resource, limit] of Object.entries(limits)) {
      store.quotas.setClassLimit(name, resource, Number(limit));
    }
  });
  return { body: { quota_class_set: only(listClassResources(call.version), classLimits(deps, name)) } };
}
