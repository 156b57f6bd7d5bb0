import { pythonRepr } from "../../python/repr.js";
import { and, EVERY, where } from "../../resources/condition.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { badResource, networkError } from "../engine/network-errors.js";
import { findRecord } from "../engine/records.js";
import { type FixedIp, fixedIpsOf } from "../ipam/allocate-addresses.js";
import {
  FLOATINGIPS,
  type FloatingIpRecord,
  PORT_FORWARDINGS,
  type PortForwardingInput,
  type PortForwardingRecord,
} from "../resources/floating-ips.js";
import { PORTS } from "../resources/ports.js";
import { SUBNETS } from "../resources/subnets.js";
import { findRouter, releaseRouter } from "./floating-ip-associations.js";
import { alreadyAssociated } from "./floating-ips.js";
import { isIpv4 } from "./router-ports.js";

const bad = (message: string): Error => badResource("port_forwarding", message);

interface PortRange {
  readonly first: number;
  readonly last: number;
}

export const PORT_FORWARDING_BEHAVIOUR: Behaviour<typeof PORT_FORWARDINGS.attributes> = {
  visible: () => EVERY,

  prepareCreate(context, input) {
    const external = rangeOf(input.external_port_range, input.external_port);
    const internal = rangeOf(input.internal_port_range, input.internal_port);
    // Neutron fails if a request names neither a port nor a range.
    if (external === undefined || internal === undefined) {
      throw bad("An external and an internal port, or ranges of them, must be specified.");
    }
    const { internal_port_id: portId = "", internal_ip_address: address = "" } = input;
    rejectUnequalRanges(internal, external);
    rejectCollisions(context, { ...input, internal, external });
    rejectFloatingPort(context, portId, address);
    const floatingIp = findRecord(context.internal, FLOATINGIPS, String(input.floatingip_id));
    if (floatingIp.port_id !== null) {
      throw alreadyAssociated({
        id: floatingIp.id,
        address: floatingIp.floating_ip_address,
        networkId: floatingIp.floating_network_id,
        portId,
        fixedAddress: address,
      });
    }
    const routerId = findRouterOf(context, floatingIp, portId, address);
    if (floatingIp.router_id === null) {
      context.table(FLOATINGIPS).update(floatingIp.id, { router_id: routerId, status: "ACTIVE" });
    }
    // A single port takes precedence over a range.
    return {
      ...externalColumns(rangeOf(null, input.external_port) ?? external),
      ...internalColumns(rangeOf(null, input.internal_port) ?? internal),
    };
  },

  prepareUpdate(context, forwarding, changes) {
    const updated = { ...forwarding, ...changes };
    const { internal_port_id: portId, internal_ip_address: address } = updated;
    if (changes.internal_port_id) {
      rejectFloatingPort(context, portId, address);
    }
    if (portId !== forwarding.internal_port_id) {
      findRouterOf(context, findRecord(context.internal, FLOATINGIPS, forwarding.floatingip_id), portId, address);
    }
    const fixedIps = fixedIpsOf(context, [portId]).get(portId) ?? [];
    if (!fixedIps.some(({ ip_address: own }) => own === address)) {
      throw bad(
        `The internal IP does not correspond to an address on the internal port, which has fixed_ips ${pythonRepr(fixedIps.map(renderFixedIp))}.`,
      );
    }
    const external = rangeOf(changes.external_port_range, changes.external_port);
    const internal = rangeOf(changes.internal_port_range, changes.internal_port);
    rejectUnequalRanges(internal, external);
    rejectCollisions(context, {
      ...updated,
      external: external ?? parseRange(forwarding.external_port_range),
      internal: internal ?? parseRange(forwarding.internal_port_range),
    });
    return {
      ...changes,
      ...(external && externalColumns(external)),
      ...(internal && internalColumns(internal)),
    };
  },

  afterCreate: (context, forwarding) => touchBoth(context, forwarding),

  afterUpdate: (context, forwarding) => touchBoth(context, forwarding),

  afterDelete(context, forwarding) {
    releaseRouter(context, forwarding.floatingip_id);
    touchBoth(context, forwarding);
  },

  /** Forwardings of ranges have no single ports. */
  compute: (_context, forwardings) =>
    forwardings.map(({ external_port: external, internal_port: internal }) => ({
      external_port: external ?? undefined,
      internal_port: internal ?? undefined,
    })),
};

function touchBoth(
  context: NetworkContext,
  { floatingip_id: floatingIp, internal_port_id: port }: PortForwardingRecord,
) {
  context.touch(FLOATINGIPS as never, floatingIp);
  context.touch(PORTS as never, port);
}

/** Returns the ports that a request names: a range, or a single port. A range of one port may be a number. */
function rangeOf(range: string | null | undefined, port: number | null | undefined): PortRange | undefined {
  if (range) {
    return parseRange(String(range));
  }
  return port ? { first: port, last: port } : undefined;
}

function parseRange(text: string | null): PortRange | undefined {
  const [first, last = first] = (text ?? "").split(":").map(Number);
  return first && last ? { first, last } : undefined;
}

const format = ({ first, last }: PortRange): string => `${first}:${last}`;

function externalColumns(range: PortRange) {
  return { external_port_range: format(range), external_port: range.first === range.last ? range.first : null };
}

function internalColumns(range: PortRange) {
  return { internal_port_range: format(range), internal_port: range.first === range.last ? range.first : null };
}

const lengthOf = (range: PortRange | undefined): number => (range ? range.last - range.first : 0);

function rejectUnequalRanges(internal: PortRange | undefined, external: PortRange | undefined): void {
  if (lengthOf(internal) > 0 && lengthOf(internal) !== lengthOf(external)) {
    throw bad(
      "Invalid ranges of internal and/or external ports. The relation between internal and external ports must be N-N or 1-N.",
    );
  }
}

interface Candidate extends Pick<PortForwardingInput, "id" | "floatingip_id" | "protocol"> {
  readonly internal_port_id?: string;
  readonly internal_ip_address?: string;
  readonly external: PortRange | undefined;
  readonly internal: PortRange | undefined;
}

/** Rejects ports that another forwarding of the internal address, or of the floating IP, has. */
function rejectCollisions(context: NetworkContext, candidate: Candidate): void {
  const { id = "", protocol = "", internal_port_id: port = "", internal_ip_address: address = "" } = candidate;
  const { floatingip_id: floatingIp = "", internal, external } = candidate;
  const others = where`id != ${id} AND protocol = ${protocol}`;
  const table = context.table(PORT_FORWARDINGS);
  for (const one of table.find(and(others, where`internal_port_id = ${port} AND internal_ip_address = ${address}`))) {
    rejectCollision("internal_port_range", parseRange(one.internal_port_range), internal);
  }
  for (const one of table.find(and(others, where`floatingip_id = ${floatingIp}`))) {
    rejectCollision("external_port_range", parseRange(one.external_port_range), external);
  }
}

function rejectCollision(name: string, existing: PortRange | undefined, requested: PortRange | undefined): void {
  if (existing && requested && existing.first <= requested.last && requested.first <= existing.last) {
    throw bad(
      `There is a port collision with the ${name}. The following ranges collides: ${format(existing)} and ${format(requested)}.`,
    );
  }
}

/** Rejects a port that has a floating IP of its own. */
function rejectFloatingPort(context: NetworkContext, portId: string, address: string): void {
  const floatingIp = context.table(FLOATINGIPS).first(where`port_id = ${portId}`);
  if (floatingIp) {
    throw networkError(
      409,
      "PortHasBindingFloatingIP",
      `Cannot create port forwarding to floating IP ${floatingIp.floating_ip_address} (${floatingIp.id}) with port ${portId} using fixed IP ${address}, as that port already has a binding floating IP.`,
    );
  }
}

/** Returns the router between the port and the floating IP. @throws {HttpError} 400 if there is none, or another one */
function findRouterOf(context: NetworkContext, floatingIp: FloatingIpRecord, portId: string, address: string): string {
  const port = findRecord(context, PORTS, portId);
  const fixedIps = (fixedIpsOf(context, [portId]).get(portId) ?? []).filter(({ ip_address: own }) => isIpv4(own));
  if (fixedIps.length === 0) {
    throw bad(`Requested internal port ${portId} must allocate an IPv4 address at least..`);
  }
  const fixedIp = fixedIps.find(({ ip_address: own }) => own === address);
  if (fixedIp === undefined) {
    throw bad(
      `Requested internal IP address ${address} is not suitable for internal neutron port ${portId}, as its fixed_ips are ${pythonRepr(fixedIps.map(renderFixedIp))}.`,
    );
  }
  const subnet = findRecord(context, SUBNETS, fixedIp.subnet_id);
  const { id, floating_network_id: networkId, router_id: current } = floatingIp;
  const router = findRouter(context, port.network_id, subnet, networkId);
  if (router === undefined) {
    throw bad(
      `External network ${networkId} is not reachable from subnet ${subnet.id}. Cannot set Port forwarding for port ${portId} with Floating IP ${id}.`,
    );
  }
  if (current !== null && current !== router) {
    throw bad(
      `The Floating IP ${id} had been set on router ${current}, the internal Neutron port ${portId} can not reach it.`,
    );
  }
  return router;
}

const renderFixedIp = ({ subnet_id, ip_address }: FixedIp) => ({ subnet_id, ip_address });
