import type { TaskState, VmState } from "../../../../records/index.js";
import { schemas } from "../../../http/schemas.js";
import { bodyOf } from "../../api/schema-parts.js";
import {
  type AllowedStates,
  agentAction,
  begin,
  instanceAction,
  type PlainMethod,
  requireHost,
  requireState,
  type ServerAction,
} from "./server-action.js";

/** Actions that one agent runs alone: name, policy, states that allow it, task state and method of the agent. */
const AGENT_ACTIONS: readonly (readonly [string, string, readonly VmState[], TaskState, PlainMethod])[] = [
  ["os-start", "servers:start", ["stopped"], "powering-on", "start_instance"],
  ["os-stop", "servers:stop", ["active", "error"], "powering-off", "stop_instance"],
  ["pause", "os-pause-server:pause", ["active"], "pausing", "pause_instance"],
  ["unpause", "os-pause-server:unpause", ["paused"], "unpausing", "unpause_instance"],
  ["suspend", "os-suspend-server:suspend", ["active"], "suspending", "suspend_instance"],
  ["resume", "os-suspend-server:resume", ["suspended"], "resuming", "resume_instance"],
  ["unrescue", "os-unrescue", ["rescued"], "unrescuing", "unrescue_instance"],
];

export const agentActions: readonly ServerAction[] = AGENT_ACTIONS.map(([name, policy, vm, taskState, method]) =>
  agentAction({
    name,
    verb: name.replace(/^os-/, ""),
    policy: `os_compute_api:${policy}`,
    states: { vm },
    taskState,
    // As in Nova, stopping a server resets its progress.
    ...(method === "stop_instance" ? { changes: { progress: 0 } } : {}),
    method,
  }),
);

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
