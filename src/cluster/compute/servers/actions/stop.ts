import { requireMember } from "../../api/policy.js";
import { findInstance, refuseLocked } from "../find-server.js";
import { begin } from "./agent-action.js";
import { anyBody, requireHost, requireState, type ServerAction } from "./server-action.js";

export const stop: ServerAction = {
  name: "os-stop",
  schema: anyBody("os-stop"),
  run: (deps, call) => {
    const { bus } = deps;
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:servers:stop");
    refuseLocked(call, instance);
    requireState(instance, "stop", { vm: ["active", "error"] });
    const host = requireHost(instance);
    begin(deps, call, instance, { taskState: "powering-off", progress: 0 }, "stop");
    bus.cast(host, "stop_instance", { instanceUuid: instance.uuid, requestId: call.requestId }, call.requestId);
    return { status: 202 };
  },
};
