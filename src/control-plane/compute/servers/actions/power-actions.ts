import { schemas } from "../../../http/schemas.js";
import { requireMember } from "../../api/call.js";
import { assertNotLocked, findInstance } from "../find-server.js";
import {
  type AllowedStates,
  agentAction,
  begin,
  requireHost,
  requireState,
  type ServerAction,
} from "./server-action.js";

export const start = agentAction({
  name: "os-start",
  verb: "start",
  policy: "os_compute_api:servers:start",
  states: { vm: ["stopped"] },
  taskState: "powering-on",
  method: "start_instance",
});

export const stop = agentAction({
  name: "os-stop",
  verb: "stop",
  policy: "os_compute_api:servers:stop",
  states: { vm: ["active", "error"] },
  taskState: "powering-off",
  changes: { progress: 0 },
  method: "stop_instance",
});

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

export const pause = agentAction({
  name: "pause",
  verb: "pause",
  policy: "os_compute_api:os-pause-server:pause",
  states: { vm: ["active"] },
  taskState: "pausing",
  method: "pause_instance",
});

export const unpause = agentAction({
  name: "unpause",
  verb: "unpause",
  policy: "os_compute_api:os-pause-server:unpause",
  states: { vm: ["paused"] },
  taskState: "unpausing",
  method: "unpause_instance",
});

export const suspend = agentAction({
  name: "suspend",
  verb: "suspend",
  policy: "os_compute_api:os-suspend-server:suspend",
  states: { vm: ["active"] },
  taskState: "suspending",
  method: "suspend_instance",
});

export const resume = agentAction({
  name: "resume",
  verb: "resume",
  policy: "os_compute_api:os-suspend-server:resume",
  states: { vm: ["suspended"] },
  taskState: "resuming",
  method: "resume_instance",
});
