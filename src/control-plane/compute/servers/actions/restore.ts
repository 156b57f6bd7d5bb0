import { requireMember } from "../../api/policy.js";
import { serversInQuota } from "../../quotas/server-quota.js";
import { terminate } from "../delete-server.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { begin } from "./agent-action.js";
import { anyBody, requireState, type ServerAction } from "./server-action.js";

/** Brings back a server that was deleted no longer than `reclaim_instance_interval` ago. */
export const restore: ServerAction = {
  name: "restore",
  schema: anyBody("restore"),
  run: (deps, call) => {
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:os-deferred-delete:restore");
    assertNotLocked(call, instance);
    requireState(instance, "restore", { vm: ["soft-delete"] });
    serversInQuota(deps, instance, instance.flavor, 1, 1);
    if (instance.host === null) {
      begin(deps, call, instance, { vmState: "active", taskState: null }, "restore");
      return { status: 202 };
    }
    begin(deps, call, instance, { taskState: "restoring" }, "restore");
    const params = { instanceUuid: instance.uuid, requestId: call.requestId };
    deps.bus.cast(instance.host, "restore_instance", params, call.requestId);
    return { status: 202 };
  },
};

/** Deletes for good, whatever the server does and whether it could be restored. */
export const forceDelete: ServerAction = {
  name: "forceDelete",
  schema: anyBody("forceDelete"),
  run: (deps, call) => {
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:os-deferred-delete:force");
    assertNotLocked(call, instance);
    terminate(deps, call, instance);
    return { status: 202 };
  },
};
