import { agentAction } from "./agent-action.js";

export const stop = agentAction({
  name: "os-stop",
  verb: "stop",
  policy: "os_compute_api:servers:stop",
  states: { vm: ["active", "error"] },
  taskState: "powering-off",
  changes: { progress: 0 },
  method: "stop_instance",
});
