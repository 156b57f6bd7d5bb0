import { agentAction } from "./agent-action.js";

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
