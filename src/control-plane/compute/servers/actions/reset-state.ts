import { requireAdmin } from "../../api/policy.js";
import { schemas } from "../../api/validate.js";
import { findInstance } from "../find-server.js";
import { recordAction, type ServerAction } from "./server-action.js";

interface ResetStateBody {
  readonly "os-resetState": { readonly state: "active" | "error" };
}

const SCHEMA = schemas<ResetStateBody>([
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
  schema: SCHEMA,
  run: (deps, call) => {
    const { state } = call.body(SCHEMA)["os-resetState"];
    requireAdmin(call, "os_compute_api:os-admin-actions:reset_state");
    const instance = findInstance(deps, call);
    recordAction(deps, call, instance, "resetState");
    deps.store.instances.save(instance.uuid, { vmState: state, taskState: null });
    return { status: 202 };
  },
};
