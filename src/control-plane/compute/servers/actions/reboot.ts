import { requireMember } from "../../api/policy.js";
import { schemas } from "../../api/validate.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import { begin } from "./agent-action.js";
import { type AllowedStates, requireHost, requireState, type ServerAction } from "./server-action.js";

interface RebootBody {
  readonly reboot: { readonly type: string };
}

const SCHEMA = schemas<RebootBody>([
  1,
  {
    type: "object",
    properties: {
      reboot: {
        type: "object",
        properties: { type: { type: "string", enum: ["HARD", "Hard", "hard", "SOFT", "Soft", "soft"] } },
        required: ["type"],
        additionalProperties: false,
      },
    },
    required: ["reboot"],
    additionalProperties: false,
  },
]);

const SOFT: AllowedStates = { vm: ["active"] };
const HARD: AllowedStates = {
  vm: ["active", "stopped", "paused", "suspended", "error"],
  task: [
    null,
    "rebooting",
    "reboot_pending",
    "reboot_started",
    "rebooting_hard",
    "resuming",
    "unpausing",
    "suspending",
    "pausing",
  ],
};

export const reboot: ServerAction = {
  name: "reboot",
  schema: SCHEMA,
  run: (deps, call) => {
    const { bus } = deps;
    const { reboot: requested } = call.body(SCHEMA);
    const type = requested.type.toUpperCase() === "HARD" ? "HARD" : "SOFT";
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:servers:reboot");
    assertNotLocked(call, instance);
    requireState(instance, "reboot", type === "HARD" ? HARD : SOFT);
    const host = requireHost(instance);
    begin(deps, call, instance, { taskState: type === "HARD" ? "rebooting_hard" : "rebooting" }, "reboot");
    bus.cast(host, "reboot_instance", { instanceUuid: instance.uuid, type, requestId: call.requestId }, call.requestId);
    return { status: 202 };
  },
};
