import type { Call, ComputeResponse } from "../api/call.js";
import { type ComputeDeps, ServiceDeleteRejectedError } from "../api/deps.js";
import { conflict } from "../api/fault.js";
import { requireAdmin } from "../api/policy.js";
import { boolFromText } from "../api/schema-parts.js";
import { findService } from "./find-service.js";

/** Spec 7.1 steps 1 and 9; what lies between is {@link ComputeDeps.deleteService}. `?force=true` is handed on to it. */
export async function deleteService(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  requireAdmin(call, "os_compute_api:os-services:delete");
  const service = findService(deps, call, (id) => `Service ${id} not found.`);
  if (service.binary === "nova-compute") {
    const force = boolFromText(call.query.get("force"));
    try {
      await deps.deleteService(service, { force, requestId: call.requestId });
    } catch (error) {
      throw error instanceof ServiceDeleteRejectedError ? conflict(error.message) : error;
    }
  } else {
    deps.store.services.destroy(service.id);
  }
  return { status: 204 };
}
