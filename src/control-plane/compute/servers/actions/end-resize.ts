import type { Instance, Migration } from "../../../../records/index.js";
import type { ComputeDeps } from "../../api/deps.js";
import { badRequest, conflict } from "../../api/fault.js";
import { requireMember } from "../../api/policy.js";
import { assertUpsizeQuota } from "../../quotas/server-quota.js";
import { isUp } from "../../services/service-status.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { begin } from "./agent-action.js";
import { anyBody, recordAction, requireState, type ServerAction } from "./server-action.js";

/** Spec 6.3, confirm. */
export const confirmResize: ServerAction = {
  name: "confirmResize",
  schema: anyBody("confirmResize"),
  run: (deps, call) => {
    const { store, bus } = deps;
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:servers:confirm_resize");
    assertNotLocked(call, instance);
    requireState(instance, "confirmResize", { vm: ["resized"] });
    const migration = finishedMigration(deps, instance);
    const source = migration.sourceCompute ?? "";
    const service = store.services.getByHost(source, "nova-compute");
    if (!service || !isUp(deps, service)) {
      throw conflict("Service is unavailable at this time.");
    }
    store.migrations.save(migration.id, { status: "confirming" }, { expectedStatus: ["finished"] });
    recordAction(deps, call, instance, "confirmResize");
    const params = { instanceUuid: instance.uuid, migrationId: migration.id, requestId: call.requestId };
    bus.cast(source, "confirm_resize", params, call.requestId);
    return { status: 204 };
  },
};

/** Spec 6.3, revert. The source need not be up: the destination tells it when it is. */
export const revertResize: ServerAction = {
  name: "revertResize",
  schema: anyBody("revertResize"),
  run: (deps, call) => {
    const { store, bus } = deps;
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:servers:revert_resize");
    assertNotLocked(call, instance);
    requireState(instance, "revertResize", { vm: ["resized"] });
    const migration = finishedMigration(deps, instance);
    // Nova lets this one through its actions, and answers with what the error says of itself.
    assertUpsizeQuota(deps, instance, instance.flavor, instance.oldFlavor ?? instance.flavor, 413);
    const spec = store.requests.spec(instance.uuid);
    if (spec !== null) {
      store.requests.saveSpec({ ...spec, flavor: instance.oldFlavor ?? instance.flavor });
    }
    begin(deps, call, instance, { taskState: "resize_reverting" }, "revertResize");
    store.migrations.save(migration.id, { status: "reverting" }, { expectedStatus: ["finished"] });
    const params = { instanceUuid: instance.uuid, migrationId: migration.id, requestId: call.requestId };
    bus.cast(migration.destCompute ?? instance.host ?? "", "revert_resize", params, call.requestId);
    return { status: 202 };
  },
};

function finishedMigration({ store }: ComputeDeps, { uuid }: Instance): Migration {
  const found = store.migrations.byFilters({
    instanceUuid: uuid,
    statuses: ["finished"],
    migrationTypes: ["migration", "resize"],
  });
  const newest = found.at(-1);
  if (newest === undefined) {
    throw badRequest("Instance has not been resized.");
  }
  return newest;
}
