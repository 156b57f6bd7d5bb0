import { isObject } from "../../../../runtime/collections.js";
import { schemas } from "../../../http/schemas.js";
import { requireAdmin, requireMember } from "../../api/call.js";
import { gone } from "../../api/gone.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { anyBody, endAction, recordAction, requireHost, requireState, type ServerAction } from "./server-action.js";

interface LockBody {
  /** Ignored before 2.73; an object or null since. */
  readonly lock: unknown;
}

const LOCK = schemas<LockBody>(
  [1, { type: "object", properties: { lock: {} }, required: ["lock"], additionalProperties: false }],
  [
    73,
    {
      type: "object",
      properties: {
        lock: {
          type: ["object", "null"],
          properties: { locked_reason: { type: "string", minLength: 1, maxLength: 255 } },
          additionalProperties: false,
        },
      },
      required: ["lock"],
      additionalProperties: false,
    },
  ],
);

export const lock: ServerAction = {
  name: "lock",
  schema: LOCK,
  run: (deps, call) => {
    const body = call.body(LOCK);
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:os-lock-server:lock");
    const reason = call.version >= 73 && isObject(body.lock) ? body.lock.locked_reason : undefined;
    recordAction(deps, call, instance, "lock");
    deps.store.instances.save(instance.uuid, {
      locked: true,
      lockedReason: typeof reason === "string" ? reason : null,
    });
    return { status: 202 };
  },
};

export const unlock: ServerAction = {
  name: "unlock",
  schema: anyBody("unlock"),
  run: (deps, call) => {
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:os-lock-server:unlock");
    recordAction(deps, call, instance, "unlock");
    deps.store.instances.save(instance.uuid, { locked: false, lockedReason: null });
    return { status: 202 };
  },
};

interface ResetStateBody {
  readonly "os-resetState": { readonly state: "active" | "error" };
}

const RESET_STATE = schemas<ResetStateBody>([
  1,
  {
    type: "object",
    properties: {
      "os-resetState": {
        type: "object",
        properties: { state: { type: "string", enum: ["active", "error"] } },
        required: ["state"],
        additionalProperties: false,
      },
    },
    required: ["os-resetState"],
    additionalProperties: false,
  },
]);

export const resetState: ServerAction = {
  name: "os-resetState",
  schema: RESET_STATE,
  run: (deps, call) => {
    const { state } = call.body(RESET_STATE)["os-resetState"];
    requireAdmin(call, "os_compute_api:os-admin-actions:reset_state");
    const instance = findInstance(deps, call);
    recordAction(deps, call, instance, "resetState");
    deps.store.instances.save(instance.uuid, { vmState: state, taskState: null });
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
 * Triggers an interrupt, to which a guest's kernel may react by dumping its memory. It changes no state, and emulated
 * guests ignore it.
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
