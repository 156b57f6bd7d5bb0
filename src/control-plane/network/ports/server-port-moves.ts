import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { PORT_BINDINGS, PORTS, type PortBindingRecord, type PortRecord } from "../resources/ports.js";
import { activeBindingOf, bindingsOf, setStatus } from "./host-bindings.js";
import { profileOn } from "./port-allocations.js";
import { activateOne, addHostBinding, removeInactive } from "./port-bindings-behaviour.js";
import { rebind } from "./rebinding.js";
import { withoutComputeMembers } from "./server-attachments.js";
import { notifyPlugged } from "./server-notifications.js";

/** Changes of the bindings of one port of a server. */

/** Binds a port to a host and removes its other bindings. */
export function bindPort(context: NetworkContext, port: PortRecord, host: string): void {
  const bindings = bindingsOf(context, [port.id]).get(port.id) ?? [];
  const onHost = bindings.find((binding) => binding.host === host);
  let active = bindings.find(({ status }) => status === "ACTIVE");
  if (onHost?.status === "INACTIVE") {
    active = activateOne(context, onHost);
  }
  // The status may have changed with the activation.
  const current = active === onHost || active?.id !== onHost?.id ? port : context.table(PORTS).get(port.id);
  const profile = profileOn(context, port.id, host, active?.profile);
  if (rebind(context, current ?? port, { host, profile }, active)) {
    context.touch(PORTS, port.id);
  }
  if (bindings.length > 1) {
    removeInactive(context, port.id);
  }
}

/** Adds an inactive binding on a host that has none. @throws {HttpError} 500 */
export function addInactive(context: NetworkContext, port: PortRecord, host: string): void {
  if (bindingOn(context, port.id, host) === undefined) {
    const profile = profileOn(context, port.id, host, activeBindingOf(context, port.id)?.profile);
    addHostBinding(context, port.id, host, profile);
  }
}

export function activateOn(context: NetworkContext, port: PortRecord, host: string): void {
  const binding = bindingOn(context, port.id, host);
  if (binding?.status === "INACTIVE") {
    activateOne(context, binding);
  }
}

export function removeInactiveOn(context: NetworkContext, port: PortRecord, host: string): void {
  const binding = bindingOn(context, port.id, host);
  if (binding?.status === "INACTIVE") {
    context.table(PORT_BINDINGS).delete(binding.id);
  }
}

/** Removes the host from a port that stays attached. */
export function unbindPort(context: NetworkContext, port: PortRecord): void {
  removeInactive(context, port.id);
  const profile = activeBindingOf(context, port.id)?.profile ?? {};
  if (rebind(context, port, { host: "", profile: withoutComputeMembers(profile) })) {
    context.touch(PORTS, port.id);
  }
}

/** Records that a host has plugged a port. Returns whether it was not plugged there before. */
export function plugPort(context: NetworkContext, port: PortRecord, host: string): boolean {
  const binding = bindingOn(context, port.id, host);
  if (binding === undefined || binding.is_plugged) {
    return false;
  }
  setPlugged(context, port, binding, true);
  notifyPlugged(context, port, host);
  return true;
}

export function unplugPort(context: NetworkContext, port: PortRecord, host: string): void {
  const binding = bindingOn(context, port.id, host);
  if (binding?.is_plugged) {
    setPlugged(context, port, binding, false);
  }
}

function setPlugged(context: NetworkContext, port: PortRecord, binding: PortBindingRecord, isPlugged: boolean): void {
  context.table(PORT_BINDINGS).update(binding.id, { is_plugged: isPlugged });
  if (binding.status === "ACTIVE") {
    setStatus(context, port, isPlugged);
    context.touch(PORTS, port.id);
  }
}

function bindingOn(context: NetworkContext, portId: string, host: string): PortBindingRecord | undefined {
  return context.table(PORT_BINDINGS).first(where`port_id = ${portId} AND host = ${host}`);
}
