import { hostsOf } from "../../conductor/instance-events.js";
import type { Port } from "../../store/ports.js";
import type { NetworkCall, NetworkResponse, NetworkRoute } from "../api/call.js";
import { notFound } from "../api/fault.js";
import { enforce } from "../api/policy.js";
import { bindingAt } from "./port-view.js";

/** Where a port is bound: where its server is, and, not active, where its server moves to. */
export const BINDING_ROUTES: readonly NetworkRoute[] = [
  { method: "GET", path: "/v2.0/ports/:id/bindings", handle: listBindings },
];

function listBindings(call: NetworkCall): NetworkResponse {
  enforce(call.caller, "get_port:binding");
  const port = call.store.ports.get(call.param("id").toLowerCase());
  if (!port) {
    throw notFound();
  }
  return { body: { bindings: hostsWith(call, port).map((host) => binding(port, host)) } };
}

function hostsWith({ store }: NetworkCall, { deviceId }: Port): readonly string[] {
  const instance = store.instances.get(deviceId);
  return instance ? hostsOf(store, instance) : [];
}

function binding(port: Port, host: string) {
  const { vif_type, vif_details, profile } = bindingAt(host);
  return {
    host,
    status: host === port.host ? "ACTIVE" : "INACTIVE",
    vif_type,
    vif_details,
    profile,
    vnic_type: "normal",
  };
}
