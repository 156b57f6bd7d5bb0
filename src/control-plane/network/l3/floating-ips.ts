import { groupBy } from "../../../runtime/collections.js";
import type { Json } from "../../http/json.js";
import { EVERY, where } from "../../resources/condition.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { badResource, networkError } from "../engine/network-errors.js";
import { createRecord, deleteRecord, findRecord } from "../engine/records.js";
import { fixedIpsOf } from "../ipam/allocate-addresses.js";
import { notifyNetworkChanged } from "../ports/server-notifications.js";
import {
  type FLOATINGIP_POOLS,
  FLOATINGIPS,
  type FloatingIpInput,
  type FloatingIpRecord,
  PORT_FORWARDINGS,
  type PortForwardingRecord,
} from "../resources/floating-ips.js";
import { NETWORKS } from "../resources/networks.js";
import { PORTS } from "../resources/ports.js";
import { QOS_POLICIES } from "../resources/qos-policies.js";
import { SUBNETS } from "../resources/subnets.js";
import { findRouter } from "./floating-ip-associations.js";
import { FLOATING_IP, isIpv4 } from "./router-ports.js";

const bad = (message: string): Error => badResource("floatingip", message);

export const FLOATING_IP_BEHAVIOUR: Behaviour<typeof FLOATINGIPS.attributes> = {
  prepareCreate(context, input) {
    const id = context.services.random.uuid();
    const networkId = input.floating_network_id ?? "";
    rejectUnusableNetwork(context, networkId);
    if (input.qos_policy_id) {
      findRecord(context, QOS_POLICIES, input.qos_policy_id);
    }
    const port = createAddressPort(context, id, networkId, input);
    const floatingIp = {
      id,
      floating_network_id: networkId,
      floating_ip_address: port.address,
      project_id: input.project_id ?? "",
      port_id: null,
      router_id: null,
    };
    return {
      ...floatingIp,
      floating_port_id: port.id,
      ...associate(context, floatingIp, input),
      dns_name: input.dns_domain ? (input.dns_name ?? "") : "",
      dns_domain: input.dns_name ? (input.dns_domain ?? "") : "",
    };
  },

  afterCreate(context, { port_id: portId }) {
    notify(context, portId);
  },

  prepareUpdate(context, floatingIp, changes) {
    if (changes.qos_policy_id) {
      findRecord(context, QOS_POLICIES, changes.qos_policy_id);
    }
    const request =
      changes.port_id === undefined && floatingIp.port_id !== null && Object.keys(changes).length > 0
        ? { ...changes, port_id: floatingIp.port_id }
        : changes;
    rejectAddressWithoutPort(changes);
    const association = associate(context, floatingIp, request);
    if (changes.port_id && context.table(PORT_FORWARDINGS).has(where`floatingip_id = ${floatingIp.id}`)) {
      throw inUseByForwarding(floatingIp.id);
    }
    return {
      ...association,
      // As in Neutron, an update that does not name the policy removes it.
      qos_policy_id: changes.qos_policy_id ?? null,
      ...(changes.description !== undefined && { description: changes.description }),
    };
  },

  afterUpdate(context, { port_id: portId }, _changes, { port_id: oldPortId }) {
    if (portId !== oldPortId) {
      notify(context, oldPortId);
      notify(context, portId);
    }
  },

  beforeDelete(context, { id }) {
    if (context.table(PORT_FORWARDINGS).has(where`floatingip_id = ${id}`)) {
      throw inUseByForwarding(id);
    }
  },

  afterDelete(context, { floating_port_id: addressPort, port_id: portId }) {
    deleteRecord(context.internal, PORTS, addressPort);
    notify(context, portId);
  },

  compute: computeFloatingIps,
};

/** Notifies Compute of the changed addresses of a server. */
function notify(context: NetworkContext, portId: string | null): void {
  if (portId !== null) {
    notifyNetworkChanged(context, portId);
  }
}

function inUseByForwarding(id: string): Error {
  return networkError(409, "FipInUseByPortForwarding", `Floating IP ${id} in use by Port Forwarding resources.`);
}

/** @throws {HttpError} 400, 404 */
function rejectUnusableNetwork(context: NetworkContext, networkId: string): void {
  const network = findRecord(context, NETWORKS, networkId);
  if (!network["router:external"]) {
    throw bad(`Network ${networkId} is not a valid external network.`);
  }
  if (!context.table(SUBNETS).has(where`network_id = ${networkId} AND ip_version = 4`)) {
    throw bad(`Network ${networkId} does not contain any IPv4 subnet.`);
  }
}

/** Creates the port that has the floating address; it belongs to no project. */
function createAddressPort(context: NetworkContext, deviceId: string, networkId: string, input: FloatingIpInput) {
  const { subnet_id: subnetId, floating_ip_address: address } = input;
  const requested = { ...(subnetId && { subnet_id: subnetId }), ...(address && { ip_address: address }) };
  const port = createRecord(context.internal, PORTS, {
    project_id: "",
    network_id: networkId,
    device_id: deviceId,
    device_owner: FLOATING_IP,
    status: "N/A",
    ...(Object.keys(requested).length > 0 && { fixed_ips: [requested] }),
  });
  const chosen = fixedIpsOf(context, [port.id])
    .get(port.id)
    ?.find(({ ip_address: own }) => isIpv4(own));
  if (chosen === undefined) {
    throw networkError(
      400,
      "ExternalIpAddressExhausted",
      `Unable to find any IP address on external network ${networkId}.`,
    );
  }
  return { id: port.id, address: chosen.ip_address };
}

type Association = Pick<FloatingIpRecord, "port_id" | "fixed_ip_address" | "router_id" | "status">;

function rejectAddressWithoutPort({ fixed_ip_address: address, port_id: portId }: FloatingIpInput): void {
  if (address && !portId) {
    throw bad("fixed_ip_address cannot be specified without a port_id.");
  }
}

/** Decides the port, address and router of a floating IP. Without a port only port forwardings keep their router. */
function associate(
  context: NetworkContext,
  floatingIp: Pick<
    FloatingIpRecord,
    "id" | "floating_network_id" | "floating_ip_address" | "project_id" | "port_id" | "router_id"
  >,
  request: FloatingIpInput,
): Association {
  rejectAddressWithoutPort(request);
  const { port_id: portId } = request;
  if (!portId) {
    const routerId = floatingIp.port_id === null ? floatingIp.router_id : null;
    return { port_id: null, fixed_ip_address: null, router_id: routerId, status: statusOf(routerId) };
  }
  const { networkId, fixedIp } = findInternalAddress(context, portId, floatingIp.project_id, request.fixed_ip_address);
  const subnet = findRecord(context, SUBNETS, fixedIp.subnet_id);
  const routerId = findRouter(context, networkId, subnet, floatingIp.floating_network_id);
  if (routerId === undefined) {
    throw networkError(
      404,
      "ExternalGatewayForFloatingIPNotFound",
      `External network ${floatingIp.floating_network_id} is not reachable from subnet ${subnet.id}.  Therefore, cannot associate Port ${portId} with a Floating IP.`,
    );
  }
  if (portId !== floatingIp.port_id) {
    rejectSecond(context, floatingIp, portId, fixedIp.ip_address);
  }
  return {
    port_id: portId,
    fixed_ip_address: fixedIp.ip_address,
    router_id: routerId,
    status: statusOf(routerId),
  };
}

/** The emulated L3 agent translates an address as soon as a router has it. */
const statusOf = (routerId: string | null): string => (routerId === null ? "DOWN" : "ACTIVE");

function rejectSecond(
  context: NetworkContext,
  {
    id,
    floating_network_id: networkId,
    floating_ip_address: address,
  }: Pick<FloatingIpRecord, "id" | "floating_network_id" | "floating_ip_address">,
  portId: string,
  fixedAddress: string,
): void {
  const isTaken = context
    .table(FLOATINGIPS)
    .has(where`port_id = ${portId} AND fixed_ip_address = ${fixedAddress} AND floating_network_id = ${networkId}`);
  if (isTaken) {
    throw alreadyAssociated({ id, address, networkId, portId, fixedAddress });
  }
}

export function alreadyAssociated(names: {
  readonly id: string;
  readonly address: string | null;
  readonly networkId: string;
  readonly portId: string;
  readonly fixedAddress: string;
}): Error {
  const { id, address, networkId, portId, fixedAddress } = names;
  return networkError(
    409,
    "FloatingIPPortAlreadyAssociated",
    `Cannot associate floating IP ${address} (${id}) with port ${portId} using fixed IP ${fixedAddress}, as that fixed IP already has a floating IP on external network ${networkId}.`,
  );
}

/** Returns the IPv4 address of a port to which a floating IP leads: the requested one, or the only one. */
function findInternalAddress(context: NetworkContext, portId: string, projectId: string, requested?: string | null) {
  const port = findRecord(context, PORTS, portId);
  if (port.project_id !== projectId && !context.caller.isAdmin) {
    throw bad(
      `Cannot process floating IP association with Port ${portId}, since that port is owned by a different tenant.`,
    );
  }
  if (port.device_owner === "network:dhcp") {
    throw bad("Port %(id)s is unable to be assigned a floating IP.");
  }
  if (requested && !isIpv4(requested)) {
    throw bad(`Cannot process floating IP association with ${requested}, since that is not an IPv4 address.`);
  }
  const addresses = (fixedIpsOf(context, [portId]).get(portId) ?? []).filter(({ ip_address: ip }) => isIpv4(ip));
  const candidates = requested ? addresses.filter(({ ip_address: ip }) => ip === requested) : addresses;
  const [fixedIp, second] = candidates;
  if (fixedIp === undefined) {
    throw bad(
      requested
        ? `Port ${portId} does not have fixed ip ${requested}.`
        : `Cannot add floating IP to port ${portId} that has no fixed IPv4 addresses.`,
    );
  }
  if (second) {
    throw bad(
      `Port ${portId} has multiple fixed IPv4 addresses.  Must provide a specific IPv4 address when assigning a floating IP.`,
    );
  }
  return { networkId: port.network_id, fixedIp };
}

function computeFloatingIps(context: NetworkContext, floatingIps: readonly FloatingIpRecord[]) {
  const ports = new Map(
    context
      .table(PORTS)
      .withIds(floatingIps.flatMap(({ port_id: id }) => id ?? []))
      .map((port) => [port.id, port]),
  );
  const forwardings = groupBy(
    context.table(PORT_FORWARDINGS).find({
      sql: "floatingip_id IN (SELECT value FROM json_each(?))",
      values: [JSON.stringify(floatingIps.map(({ id }) => id))],
    }),
    ({ floatingip_id: id }) => id,
  );
  return floatingIps.map(({ id, port_id: portId }) => {
    const port = ports.get(portId ?? "");
    return {
      port_details: port
        ? {
            name: port.name,
            network_id: port.network_id,
            mac_address: port.mac_address,
            admin_state_up: port.admin_state_up,
            status: port.status,
            device_id: port.device_id,
            device_owner: port.device_owner,
          }
        : null,
      port_forwardings: (forwardings.get(id) ?? []).map(summarize),
    };
  });
}

function summarize(forwarding: PortForwardingRecord): Json {
  const { id, protocol, internal_ip_address, internal_port_id, internal_port, external_port } = forwarding;
  return {
    id,
    protocol,
    internal_ip_address,
    internal_port_id,
    ...(internal_port !== null && { internal_port }),
    ...(external_port !== null && { external_port }),
  };
}

/** Pools belong to no project: every caller sees them as its own. */
export const FLOATING_IP_POOL_BEHAVIOUR: Behaviour<typeof FLOATINGIP_POOLS.attributes> = {
  visible: () => EVERY,
  compute: ({ caller }, pools) => pools.map(() => ({ project_id: caller.projectId, tenant_id: caller.projectId })),
};
