import { isObject } from "../../../../runtime/collections.js";
import { schemas } from "../../../http/schemas.js";
import { requireAdmin } from "../../api/call.js";
import { gone } from "../../api/gone.js";
import { bodyOf, object } from "../../api/schema-parts.js";
import { findInstance } from "../find-server.js";
import {
  anyBody,
  endAction,
  instanceAction,
  recordAction,
  requireHost,
  requireState,
  type ServerAction,
} from "./server-action.js";

const REASON = { type: "string", minLength: 1, maxLength: 255 };

interface LockBody {
  /** Ignored before 2.73; an object or null since. */
  readonly lock: unknown;
}

const LOCK = schemas<LockBody>(
  [1, bodyOf("lock", {})],
  [73, bodyOf("lock", object({ locked_reason: REASON }, [], { type: ["object", "null"] }))],
);

export const lock = instanceAction({
  name: "lock",
  schema: LOCK,
  policy: "os_compute_api:os-lock-server:lock",
  allowsLocked: true,
  run: (call, instance, body) => {
    const reason = call.version >= 73 && isObject(body.lock) ? body.lock.locked_reason : undefined;
    recordAction(call, instance, "lock");
    call.store.instances.save(instance.uuid, {
      locked: true,
      lockedReason: typeof reason === "string" ? reason : null,
    });
  },
});

export const unlock = instanceAction({
  name: "unlock",
  policy: "os_compute_api:os-lock-server:unlock",
  allowsLocked: true,
  run: (call, instance) => {
    recordAction(call, instance, "unlock");
    call.store.instances.save(instance.uuid, { locked: false, lockedReason: null });
  },
});

interface ResetStateBody {
  readonly "os-resetState": { readonly state: "active" | "error" };
}

const RESET_STATE = schemas<ResetStateBody>([
  1,
  bodyOf("os-resetState", bodyOf("state", { type: "string", enum: ["active", "error"] })),
]);

export const resetState: ServerAction = {
  name: "os-resetState",
  schema: RESET_STATE,
  run: (call) => {
    const { state } = call.body(RESET_STATE)["os-resetState"];
    requireAdmin(call, "os_compute_api:os-admin-actions:reset_state");
    const instance = findInstance(call);
    recordAction(call, instance, "resetState");
    call.store.instances.save(instance.uuid, { vmState: state, taskState: null });
    return { status: 202 };
  },
};

/** Rejected with 410: Nova removed it with XenAPI. */
export const resetNetwork: ServerAction = {
  name: "resetNetwork",
  schema: anyBody("resetNetwork"),
  run: () => {
    throw gone();
  },
};

/** Accepted without effect: since XenAPI was removed, no driver of Nova injects network information. */
export const injectNetworkInfo = instanceAction({
  name: "injectNetworkInfo",
  policy: "os_compute_api:os-admin-actions:inject_network_info",
  require: requireAdmin,
  run: (_call, instance) => {
    requireHost(instance);
  },
});

const CRASH_DUMP = schemas<unknown>([1, bodyOf("trigger_crash_dump", { type: "null" })]);

/**
 * Triggers an interrupt, to which a guest's kernel may react by dumping its memory. It changes no state, and emulated
 * guests ignore it.
 */
export const triggerCrashDump = instanceAction({
  name: "trigger_crash_dump",
  from: 17,
  schema: CRASH_DUMP,
  policy: "os_compute_api:servers:trigger_crash_dump",
  run: (call, instance) => {
    requireHost(instance);
    requireState(instance, "trigger_crash_dump", { vm: ["active", "paused", "rescued", "resized", "error"] });
    recordAction(call, instance, "trigger_crash_dump");
    endAction(call, instance, "compute_trigger_crash_dump");
  },
});
