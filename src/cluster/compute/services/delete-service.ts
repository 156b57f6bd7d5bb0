import type { Service } from "../../../conductor/records/index.js";
import type { Answer, Call } from "../api/call.js";
import { type ComputeDeps, ServiceDeleteRefused } from "../api/deps.js";
import { conflict } from "../api/fault.js";
import { requireAdmin } from "../api/policy.js";
import { boolFromText } from "../api/schema-parts.js";
import { findService } from "./find-service.js";

/** Spec 7.1 steps 1, 2 and 4; what needs Placement is {@link ComputeDeps.deleteService}. `?force=true` is handed on to it. */
export const deleteService =
  (deps: ComputeDeps) =>
  async (call: Call): Promise<Answer> => {
    requireAdmin(call, "os_compute_api:os-services:delete");
    const service = findService(deps, call, (id) => `Service ${id} not found.`);
    if (service.binary === "nova-compute") {
      refuseInUse(deps, call, service);
      const force = boolFromText(call.query.get("force"));
      try {
        await deps.deleteService(service, { force, requestId: call.requestId });
      } catch (error) {
        throw error instanceof ServiceDeleteRefused ? conflict(error.message) : error;
      }
    } else {
      deps.store.services.destroy(service.id);
    }
    return { status: 204 };
  };

const refuseInUse = ({ store, logger }: ComputeDeps, call: Call, service: Service): void => {
  const { host } = service;
  if (store.instances.countByHost(host) > 0) {
    throw conflict(
      "Unable to delete compute service that is hosting instances. Migrate or delete the instances first.",
    );
  }
  const migrations = store.computeNodes
    .byHost(host)
    .flatMap(({ hypervisorHostname }) => store.migrations.inProgress(host, hypervisorHostname));
  if (migrations.length > 0) {
    logger.info("Unable to delete compute service: migrations are in progress", {
      host,
      request_id: call.requestId,
      migrations: migrations.map(({ uuid, status }) => `${uuid}:${status}`).join(","),
    });
    throw conflict(
      "Unable to delete compute service that has in-progress migrations. Complete the migrations or delete the instances first.",
    );
  }
};
