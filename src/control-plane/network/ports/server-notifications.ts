import type { NetworkContext } from "../engine/network-context.js";
import { PORTS, type PortRecord } from "../resources/ports.js";
import type { ServerEvent } from "../server-events.js";

type NotifiedPort = Pick<PortRecord, "id" | "device_id" | "device_owner">;

/**
 * Notifies Compute that a port, or a floating IP of it, has changed. Ports without a server cause no event, and neither
 * do changes by Compute itself.
 */
export function notifyNetworkChanged(context: NetworkContext, portId: string): void {
  const port = context.table(PORTS).get(portId);
  if (port) {
    notify(context, port, "network-changed");
  }
}

/** Notifies Compute that a user has deleted a port that a server uses. */
export function notifyPortDeleted(context: NetworkContext, port: NotifiedPort): void {
  notify(context, port, "network-vif-deleted");
}

/** Notifies Compute that a host has plugged a port, which servers wait for. */
export function notifyPlugged({ services }: NetworkContext, port: NotifiedPort, host: string): void {
  send(services.events, port, { name: "network-vif-plugged", host });
}

function notify({ caller, services }: NetworkContext, port: NotifiedPort, name: ServerEvent["name"]): void {
  if (!caller.isInternal) {
    send(services.events, port, { name });
  }
}

function send(
  events: NetworkContext["services"]["events"],
  { id, device_id: serverUuid, device_owner: owner }: NotifiedPort,
  event: Pick<ServerEvent, "name" | "host">,
): void {
  if (serverUuid !== "" && owner.startsWith("compute:")) {
    events.send({ serverUuid, tag: id, status: "completed", ...event });
  }
}
