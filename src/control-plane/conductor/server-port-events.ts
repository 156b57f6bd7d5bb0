import type { NetworkPort } from "../../conductor-client/methods/conductor.js";
import type { Random } from "../../runtime/cryptography.js";
import { newRequestId } from "../http/request.js";
import type { ServerEvents } from "../network/server-events.js";
import type { ServerPorts } from "../network/server-ports.js";
import type { Store } from "../store/store.js";
import { enqueueCast, hostsOf, sendInstanceEvents } from "./agent-messages.js";

/** Forwards events of the Network service to all hosts that a server involves, in the transaction of the change. */
export function createServerEvents(store: Store, random: Random): ServerEvents {
  return {
    send: ({ serverUuid, name, tag, status }) => {
      const instance = store.instances.get(serverUuid);
      if (instance) {
        const bus = { cast: enqueueCast(store) };
        sendInstanceEvents({ store, bus }, instance, [{ name, tag, status }], newRequestId(random));
      }
    },
  };
}

/** Returns a server's ports as one of its hosts sees them. */
export function portsAt(ports: ServerPorts, uuid: string, host: string): NetworkPort[] {
  return ports.onHost(uuid, host).map(({ id, macAddress, networkId, isPlugged, vifType }) => ({
    id,
    address: macAddress,
    network: networkId,
    active: isPlugged,
    vifType,
  }));
}

/** Records that a host has plugged ports, which notifies all hosts that the server involves. */
export function plugPorts(
  { store, ports }: { readonly store: Store; readonly ports: ServerPorts },
  report: { readonly host: string; readonly instanceUuid: string; readonly ports: readonly string[] },
): void {
  const { host, instanceUuid } = report;
  const instance = store.instances.get(instanceUuid);
  // A host without a part in the server has no say in its ports.
  if (instance && hostsOf(store, instance).includes(host)) {
    store.transaction(() => ports.plugged(instanceUuid, host, report.ports));
  }
}
