import { agentAction } from "./agent-action.js";

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
