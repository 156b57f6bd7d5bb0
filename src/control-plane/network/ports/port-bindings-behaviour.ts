import type { Json } from "../../http/json.js";
import { EVERY, where } from "../../resources/condition.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { badResource, networkError } from "../engine/network-errors.js";
import type { NetworkInput } from "../engine/network-resource.js";
import { PORT_BINDINGS, PORTS, type PortBindingRecord } from "../resources/ports.js";
import {
  activeBindingOf,
  assertHost,
  bindingsOf,
  changeBinding,
  insertBinding,
  refreshStatus,
} from "./host-bindings.js";

type BindingInput = NetworkInput<typeof PORT_BINDINGS>;

/** `/ports/{id}/bindings`: only ports of servers have them. */
export const PORT_BINDINGS_BEHAVIOUR: Behaviour<typeof PORT_BINDINGS.attributes> = {
  visible: () => EVERY,
  assertParent: assertComputePort,
  compute: (context, bindings) => {
    for (const portId of new Set(bindings.map(({ port_id: id }) => id))) {
      assertComputePort(context, portId);
    }
    return bindings.map(() => ({}));
  },
  prepareCreate,
  afterCreate: (context, binding) => {
    bindAgain(context, binding);
    context.touch(PORTS, binding.port_id);
  },
  prepareUpdate: (context, binding, changes) => {
    assertComputePort(context, binding.port_id);
    assertHost(changes.host);
    changeBinding(context, binding, {
      host: changes.host ?? binding.host,
      vnicType: changes.vnic_type ?? binding.vnic_type,
      // Neutron clears a profile that the request leaves out.
      profile: changes.profile ?? {},
    });
    assertBound(context.table(PORT_BINDINGS).get(binding.id) ?? binding);
    refreshStatus(context, binding.port_id);
    context.touch(PORTS, binding.port_id);
    return {};
  },
  afterDelete: (context, { port_id: portId }) => {
    refreshStatus(context, portId);
    context.touch(PORTS, portId);
  },
  actions: { activate: (context, binding) => renderBinding(activateOne(context, binding)) },
};

function prepareCreate(context: NetworkContext, input: BindingInput): Partial<PortBindingRecord> {
  const { port_id: portId = "", host = "" } = input;
  assertComputePort(context, portId);
  assertHost(host);
  if (context.table(PORT_BINDINGS).has(where`port_id = ${portId} AND host = ${host}`)) {
    throw networkError(409, "PortBindingAlreadyExists", `Binding for port ${portId} on host ${host} already exists.`);
  }
  return {
    status: activeBindingOf(context, portId) === undefined ? "ACTIVE" : "INACTIVE",
    vif_type: "unbound",
    vif_details: {},
    profile: input.profile ?? {},
    is_plugged: false,
  };
}

function bindAgain(context: NetworkContext, binding: PortBindingRecord): void {
  changeBinding(context, binding, {});
  assertBound(context.table(PORT_BINDINGS).get(binding.id) ?? binding);
}

/**
 * Adds the binding of a host that has none yet; it is active if the port has no active one.
 * @throws {HttpError} 500 if the host cannot bind the port
 */
export function addHostBinding(
  context: NetworkContext,
  portId: string,
  host: string,
  profile: PortBindingRecord["profile"],
): void {
  const active = activeBindingOf(context, portId);
  const binding = insertBinding(context, portId, active === undefined ? "ACTIVE" : "INACTIVE", {
    host,
    profile: profile ?? {},
    vnicType: active?.vnic_type ?? "normal",
  });
  assertBound(binding);
}

/**
 * Makes a binding the active one. The one that was active until then is inactive, unbound and unplugged.
 * @throws {HttpError} 409 if it is active already
 */
export function activateOne(context: NetworkContext, binding: PortBindingRecord): PortBindingRecord {
  const { port_id: portId, host } = binding;
  assertComputePort(context, portId);
  if (binding.status === "ACTIVE") {
    throw networkError(
      409,
      "PortBindingAlreadyActive",
      `Binding for port ${portId} on host ${host} is already active.`,
    );
  }
  const table = context.table(PORT_BINDINGS);
  const previous = activeBindingOf(context, portId);
  if (previous?.host === "") {
    table.delete(previous.id);
  } else if (previous) {
    table.update(previous.id, { status: "INACTIVE", vif_type: "unbound", vif_details: {}, is_plugged: false });
  }
  table.update(binding.id, { status: "ACTIVE" });
  if (binding.vif_type === "unbound") {
    changeBinding(context, binding, {});
  }
  refreshStatus(context, portId);
  context.touch(PORTS, portId);
  return table.get(binding.id) ?? binding;
}

/** Removes all bindings but the active one. */
export function removeInactive(context: NetworkContext, portId: string): void {
  for (const { id, status } of bindingsOf(context, [portId]).get(portId) ?? []) {
    if (status === "INACTIVE") {
      context.table(PORT_BINDINGS).delete(id);
    }
  }
}

function renderBinding({ host, vif_type, vnic_type, status, profile, vif_details }: PortBindingRecord): Json {
  return { host, vif_type, vnic_type, status, profile: profile ?? {}, vif_details: vif_details ?? {} };
}

/** @throws {HttpError} 500, as Neutron has it */
function assertBound({ port_id: portId, host, vif_type: vifType }: PortBindingRecord): void {
  if (vifType === "binding_failed") {
    throw networkError(
      500,
      "PortBindingError",
      `Binding for port ${portId} on host ${host} could not be created or updated.`,
    );
  }
}

/** @throws {HttpError} 400 for a port that no server has */
function assertComputePort(context: NetworkContext, portId: string): void {
  if (!context.table(PORTS).get(portId)?.device_owner.startsWith("compute:")) {
    throw badResource("port", `Invalid port ${portId}. Operation only valid on compute ports.`);
  }
}
