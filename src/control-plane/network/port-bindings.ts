import type { NetworkPort } from "../../conductor-client/methods/conductor.js";
import { type AgentBus, hostsOf, sendInstanceEvents } from "../conductor/agent-messages.js";
import { notFound } from "../http/http-error.js";
import type { RouteResponse } from "../http/responses.js";
import { routes } from "../http/router.js";
import type { Port } from "../store/ports.js";
import type { Store } from "../store/store.js";
import { enforce, type NetworkCall, type NetworkRoute } from "./api/call.js";
import { FLAT_NETWORK } from "./flat-network.js";
import { bindingAt } from "./ports.js";

/**
 * Routes of a port's bindings: an active one on the server's host and, during a move, an inactive one on the
 * destination.
 */
export const BINDING_ROUTES = routes<NetworkRoute>({
  "GET /v2.0/ports/:id/bindings": listBindings,
});

function listBindings(call: NetworkCall): RouteResponse {
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

/** Returns a server's ports as its host sees them. */
export function portsAt(store: Store, uuid: string, host: string): NetworkPort[] {
  return store.ports.ofDevice(uuid).map(({ uuid: id, mac, pluggedOn }) => ({
    id,
    address: mac,
    network: FLAT_NETWORK.id,
    active: pluggedOn.includes(host),
  }));
}

/**
 * Marks ports as plugged on a host, then notifies all hosts that the server involves. Ports are bound only on the
 * server's host and the destination of a move, so that reports of other hosts are ignored.
 */
export function plugPorts(
  deps: { readonly store: Store; readonly bus: Pick<AgentBus, "cast"> },
  {
    host,
    instanceUuid,
    ports,
  }: { readonly host: string; readonly instanceUuid: string; readonly ports: readonly string[] },
  requestId: string,
): void {
  const { store } = deps;
  const instance = store.instances.get(instanceUuid);
  const hosts = instance ? hostsOf(store, instance) : [];
  if (!instance || !hosts.includes(host)) {
    return;
  }
  const news = store.ports
    .ofDevice(instanceUuid)
    .filter(({ uuid, pluggedOn }) => ports.includes(uuid) && !pluggedOn.includes(host));
  for (const { uuid, pluggedOn } of news) {
    store.ports.update(uuid, { pluggedOn: [...pluggedOn.filter((one) => hosts.includes(one)), host] });
  }
  if (news.length > 0) {
    const events = news.map(({ uuid }) => ({ name: "network-vif-plugged", tag: uuid, status: "completed" }));
    sendInstanceEvents(deps, instance, events, requestId);
  }
}
