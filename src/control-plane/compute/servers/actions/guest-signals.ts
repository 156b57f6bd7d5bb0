import { gone } from "../../api/gone.js";
import { requireAdmin, requireMember } from "../../api/policy.js";
import { schemas } from "../../api/validate.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { anyBody, endAction, recordAction, requireHost, requireState, type ServerAction } from "./server-action.js";

/** It left Nova with XenAPI. */
export const resetNetwork: ServerAction = {
  name: "resetNetwork",
  schema: anyBody("resetNetwork"),
  run: () => {
    throw gone();
  },
};

/** Accepted without effect: no driver of Nova injects network information since XenAPI's left. */
export const injectNetworkInfo: ServerAction = {
  name: "injectNetworkInfo",
  schema: anyBody("injectNetworkInfo"),
  run: (deps, call) => {
    const instance = findInstance(deps, call);
    requireAdmin(call, "os_compute_api:os-admin-actions:inject_network_info");
    assertNotLocked(call, instance);
    requireHost(instance);
    return { status: 202 };
  },
};

const CRASH_DUMP = schemas<unknown>([
  1,
  {
    type: "object",
    properties: { trigger_crash_dump: { type: "null" } },
    required: ["trigger_crash_dump"],
    additionalProperties: false,
  },
]);

/**
 * An interrupt that a guest's kernel may answer with a dump of its memory. It changes no state, and what becomes of it is the
 * guest's own: emulated guests ignore it.
 */
export const triggerCrashDump: ServerAction = {
  name: "trigger_crash_dump",
  from: 17,
  schema: CRASH_DUMP,
  run: (deps, call) => {
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:servers:trigger_crash_dump");
    assertNotLocked(call, instance);
    requireHost(instance);
    requireState(instance, "trigger_crash_dump", { vm: ["active", "paused", "rescued", "resized", "error"] });
    recordAction(deps, call, instance, "trigger_crash_dump");
    endAction(deps, call, instance, "compute_trigger_crash_dump");
    return { status: 202 };
  },
};
