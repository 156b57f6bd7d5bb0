import { bodyOf } from "../../api/schema-parts.js";
import { schemas } from "../../api/validate.js";
import { type AllowedStates, agentAction, begin, instanceAction, requireHost, requireState } from "./server-action.js";

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
  bodyOf("reboot", bodyOf("type", { type: "string", enum: ["HARD", "Hard", "hard", "SOFT", "Soft", "soft"] })),
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

export const reboot = instanceAction({
  name: "reboot",
  schema: SCHEMA,
  policy: "os_compute_api:servers:reboot",
  run: (call, instance, { reboot: requested }) => {
    const type = requested.type.toUpperCase() === "HARD" ? "HARD" : "SOFT";
    requireState(instance, "reboot", type === "HARD" ? HARD : SOFT);
    const host = requireHost(instance);
    const { requestId } = call;
    begin(call, instance, { taskState: type === "HARD" ? "rebooting_hard" : "rebooting" }, "reboot");
    call.deps.bus.cast(host, "reboot_instance", { instanceUuid: instance.uuid, type, requestId }, requestId);
  },
});

export const pause = agentAction({
  name: "pause",
  policy: "os_compute_api:os-pause-server:pause",
  states: { vm: ["active"] },
  taskState: "pausing",
  method: "pause_instance",
});

export const unpause = agentAction({
  name: "unpause",
  policy: "os_compute_api:os-pause-server:unpause",
  states: { vm: ["paused"] },
  taskState: "unpausing",
  method: "unpause_instance",
});

export const suspend = agentAction({
  name: "suspend",
  policy: "os_compute_api:os-suspend-server:suspend",
  states: { vm: ["active"] },
  taskState: "suspending",
  method: "suspend_instance",
});

export const resume = agentAction({
  name: "resume",
  policy: "os_compute_api:os-suspend-server:resume",
  states: { vm: ["suspended"] },
  taskState: "resuming",
  method: "resume_instance",
});
