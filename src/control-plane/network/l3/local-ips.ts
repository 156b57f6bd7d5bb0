import { and, EVERY, where } from "../../resources/condition.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { badResource, invalidOperation, networkError, recordNotFound } from "../engine/network-errors.js";
import { createRecord, deleteRecord, findRecord, updateRecord } from "../engine/records.js";
import { ownedBy, seesAll } from "../engine/sharing.js";
import { fixedIpsOf } from "../ipam/allocate-addresses.js";
import { LOCAL_IPS, PORT_ASSOCIATIONS } from "../resources/local-ips.js";
import { NETWORKS } from "../resources/networks.js";
import { PORT_BINDINGS, PORTS } from "../resources/ports.js";
import { SUBNETS } from "../resources/subnets.js";
import { LOCAL_IP } from "./router-ports.js";

export const LOCAL_IP_BEHAVIOUR: Behaviour<typeof LOCAL_IPS.attributes> = {
  prepareCreate(context, input) {
    const { local_port_id: portId, network_id: networkId, local_ip_address: address = null } = input;
    if (portId !== undefined) {
      const port = context
        .table(PORTS)
        .first(and(where`id = ${portId}`, seesAll(context) ? EVERY : ownedBy(context, PORTS)));
      if (port === undefined) {
        throw badResource("local_ip", `Port ${portId} not found.`);
      }
      return { network_id: port.network_id, local_ip_address: addressOf(context, portId, address) };
    }
    if (networkId === undefined) {
      throw networkError(
        400,
        "LocalIPPortOrNetworkRequired",
        "Either Port ID or Network ID must be specified for Local IP create.",
      );
    }
    return createLocalPort(context, networkId, address);
  },

  afterCreate(context, { id, local_port_id: portId }) {
    if (isOwnPort(context, portId)) {
      updateRecord(context.internal, PORTS, portId, { device_id: id });
    }
  },

  beforeDelete(context, { id }) {
    if (context.table(PORT_ASSOCIATIONS).has(where`local_ip_id = ${id}`)) {
      throw networkError(409, "LocalIPInUse", `Local IP ${id} is still associated with one or more ports.`);
    }
  },

  afterDelete(context, { local_port_id: portId }) {
    if (isOwnPort(context, portId)) {
      deleteRecord(context.internal, PORTS, portId);
    }
  },
};

/** Whether the service created the port for a local IP. */
function isOwnPort(context: NetworkContext, portId: string): boolean {
  return context.table(PORTS).get(portId)?.device_owner === LOCAL_IP;
}

function createLocalPort(context: NetworkContext, networkId: string, address: string | null) {
  findRecord(context, NETWORKS, networkId);
  if (!context.table(SUBNETS).has(where`network_id = ${networkId} AND ip_version = 4`)) {
    throw badResource("local_ip", `Network ${networkId} does not contain any IPv4 subnet.`);
  }
  const port = createRecord(context.internal, PORTS, {
    project_id: context.caller.projectId,
    network_id: networkId,
    device_id: "PENDING",
    device_owner: LOCAL_IP,
    status: "N/A",
    ...(address !== null && { fixed_ips: [{ ip_address: address }] }),
  });
  const [first] = fixedIpsOf(context, [port.id]).get(port.id) ?? [];
  return { local_port_id: port.id, network_id: networkId, local_ip_address: first?.ip_address ?? null };
}

/** Returns the requested address of a port, or its only one. @throws {HttpError} 400 */
function addressOf(context: NetworkContext, portId: string, requested: string | null): string {
  const addresses = (fixedIpsOf(context, [portId]).get(portId) ?? []).map(({ ip_address: address }) => address);
  const [first, second] = addresses;
  if (requested !== null) {
    if (!addresses.includes(requested)) {
      throw networkError(
        400,
        "LocalIPRequestedIPNotFound",
        `Specified Port ${portId} does not have requested IP address: ${requested}.`,
      );
    }
    return requested;
  }
  if (first === undefined) {
    throw networkError(400, "LocalIPNoIP", `Specified Port ${portId} has no fixed IPs configured.`);
  }
  if (second !== undefined) {
    throw networkError(
      400,
      "LocalIPNoRequestedIP",
      `Specified Port ${portId} has several IPs, should specify exact IP address to use for Local IP.`,
    );
  }
  return first;
}

export const PORT_ASSOCIATION_BEHAVIOUR: Behaviour<typeof PORT_ASSOCIATIONS.attributes> = {
  visible: () => EVERY,

  prepareCreate(context, { local_ip_id: localIp = "", fixed_port_id: portId = "", fixed_ip: requested = null }) {
    if (!context.table(PORTS).has(where`id = ${portId}`)) {
      throw recordNotFound(PORTS as never, portId);
    }
    const address = addressOf(context, portId, requested);
    if (context.table(PORT_ASSOCIATIONS).has(where`local_ip_id = ${localIp} AND fixed_port_id = ${portId}`)) {
      throw badResource("local_ip_port_association", `Port ${portId} has an association with local IP ${localIp}.`);
    }
    return {
      fixed_ip: address,
      local_ip_address: context.table(LOCAL_IPS).get(localIp)?.local_ip_address ?? "",
    };
  },

  compute(context, associations) {
    const hosts = hostsOf(
      context,
      associations.map(({ fixed_port_id: id }) => id),
    );
    return associations.map(({ fixed_port_id: id }) => ({ host: hosts.get(id) ?? "" }));
  },

  filters: {
    host: () => rejectFilter("host"),
    local_ip_address: () => rejectFilter("local_ip_address"),
  },
};

/** Neutron describes filters that it does not support. */
function rejectFilter(name: string): never {
  throw invalidOperation(`'${name}' is not supported for filtering`);
}

/** Returns the hosts to which ports are bound. */
function hostsOf({ sql }: NetworkContext, portIds: readonly string[]): ReadonlyMap<string, string> {
  const rows = sql.all(
    `SELECT port_id, host FROM ${PORT_BINDINGS.table}
      WHERE port_id IN (SELECT value FROM json_each(?)) AND status = 'ACTIVE'`,
    JSON.stringify(portIds),
  );
  return new Map(rows.map(([id, host]) => [String(id), String(host)]));
}
