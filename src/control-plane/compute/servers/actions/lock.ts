import { isObject } from "../../../../runtime/is-object.js";
import { requireMember } from "../../api/policy.js";
import { schemas } from "../../api/validate.js";
import { findInstance } from "../find-server.js";
import { anyBody, recordAction, type ServerAction } from "./server-action.js";

interface LockBody {
  /** Only since 2.73, and there only null or an object, it means anything. */
  readonly lock: unknown;
}

const SCHEMA = schemas<LockBody>(
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
  schema: SCHEMA,
  run: (deps, call) => {
    const body = call.body(SCHEMA);
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
