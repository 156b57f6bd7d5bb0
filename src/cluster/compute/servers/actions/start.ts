import { requireMember } from "../../api/policy.js";
import { findInstance, refuseLocked } from "../find-server.js";
import { begin } from "./agent-action.js";
import { anyBody, requireHost, requireState, type ServerAction } from "./server-action.js";

export const start: ServerAction = {
  name: "os-start",
  schema: anyBody("os-start"),
  run: (deps, call) => {
    const { bus } = deps;
    const instance = findInstance(deps, call);
    requireMember(call, "os_compute_api:servers:start");
    refuseLocked(call, instance);
    requireState(instance, "start", { vm: ["stopped"] });
    const host = requireHost(instance);
    begin(deps, call, instance, { taskState: "powering-on" }, "start");
    const params = { instanceUuid: instance.uuid, requestId: call.requestId };
    bus.cast(host, "start_instance", params, call.requestId);
    return { status: 202 };
  },
};
