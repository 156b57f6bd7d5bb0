import { agentAction } from "./agent-action.js";

export const start = agentAction({
  name: "os-start",
  verb: "start",
  policy: "os_compute_api:servers:start",
  states: { vm: ["stopped"] },
  taskState: "powering-on",
  method: "start_instance",
});
