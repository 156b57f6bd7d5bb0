import { HttpError } from "../../http/http-error.js";
import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError, recordNotFound } from "../engine/network-errors.js";
import type { NetworkResource } from "../engine/network-resource.js";
import { assertWithinQuota } from "../engine/quota.js";
import { createRecord, deleteRecord, updateRecord } from "../engine/records.js";
import { fixedIpsOf } from "../ipam/allocate-addresses.js";
import { NETWORKS } from "../resources/networks.js";
import { type BindingDetails, PORTS, type PortInput, type PortRecord } from "../resources/ports.js";
import { SUBNETS } from "../resources/subnets.js";
import type { PortServer, RequestedServerPort } from "../server-ports.js";
import { removeInactive } from "./port-bindings-behaviour.js";
import { PORT_GUARDS } from "./port-guards.js";

/** Members of `binding:profile` that Compute sets and removes again. */
const PROFILE_OF_COMPUTE: readonly string[] = [
  "allocation",
  "arq_uuid",
  "card_serial_number",
  "migrating_to",
  "pci_slot",
  "pci_vendor_info",
  "pf_mac_address",
  "physical_network",
  "vf_num",
];

/** Creates or takes the requested ports of a server; returns their ids. */
export function attachPorts(
  context: NetworkContext,
  server: PortServer,
  requested: readonly RequestedServerPort[],
  securityGroupIds: readonly string[],
): readonly string[] {
  const count = requested.filter(({ port }) => port === undefined).length;
  if (count > 0) {
    assertWithinQuota(context, PORTS as unknown as NetworkResource, server.projectId, count);
  }
  return requested.map((request) =>
    request.port === undefined
      ? createPort(context, server, request, securityGroupIds)
      : takePort(context, server, { ...request, port: request.port }),
  );
}

function createPort(
  context: NetworkContext,
  server: PortServer,
  { network: networkId = "", address, tag, profile }: RequestedServerPort,
  securityGroupIds: readonly string[],
): string {
  const [isSecure, hasSubnet] =
    context.sql.get(
      `SELECT port_security_enabled, EXISTS (SELECT 1 FROM network_subnets WHERE network_id = network.id)
        FROM network_networks AS network WHERE id = ?`,
      networkId,
    ) ?? [];
  if (isSecure === undefined) {
    throw recordNotFound(NETWORKS as unknown as NetworkResource, networkId);
  }
  if (hasSubnet !== 1) {
    throw networkError(
      400,
      "NetworkRequiresSubnet",
      `Network ${networkId} requires a subnet in order to boot instances on.`,
    );
  }
  return createRecord(context, PORTS, {
    network_id: networkId,
    project_id: server.projectId,
    made_for_server: true,
    device_tag: tag ?? null,
    ...attributesOf(server, profile),
    ...(address === undefined ? {} : { fixed_ips: [{ ip_address: address }] }),
    ...(isSecure === 1 && securityGroupIds.length > 0 ? { security_groups: securityGroupIds } : {}),
  }).id;
}

function takePort(
  context: NetworkContext,
  server: PortServer,
  { port: id, tag, profile }: RequestedServerPort & { readonly port: string },
): string {
  const port = context.table(PORTS).get(id);
  if (port === undefined) {
    throw recordNotFound(PORTS as unknown as NetworkResource, id);
  }
  if (port.device_id !== "") {
    throw networkError(409, "PortInUse", `Port ${id} is still in use.`);
  }
  if (port.ip_allocation === "immediate" && !fixedIpsOf(context, [id]).has(id)) {
    throw networkError(400, "PortRequiresFixedIP", `Port ${id} requires a FixedIP in order to be used.`);
  }
  updateRecord(context, PORTS, id, { device_tag: tag ?? null, ...attributesOf(server, profile) });
  return id;
}

function attributesOf(server: PortServer, profile: BindingDetails | undefined): PortInput {
  return {
    device_id: server.uuid,
    device_owner: `compute:${server.availabilityZone ?? "nova"}`,
    "binding:host_id": server.host ?? "",
    ...(server.hostname === null ? {} : { dns_name: server.hostname }),
    ...(profile === undefined ? {} : { "binding:profile": profile }),
  };
}

/**
 * Deletes a port that Compute created, and removes an existing one from its server. A port that a user has made the parent
 * of a trunk remains, so that the server can be deleted.
 */
export function detachPort(context: NetworkContext, port: PortRecord, profile: BindingDetails): void {
  if (port.made_for_server && !isInUse(context, port)) {
    deleteRecord(context, PORTS, port.id);
    return;
  }
  removeInactive(context, port.id);
  updateRecord(context, PORTS, port.id, {
    device_id: "",
    device_owner: "",
    device_tag: null,
    made_for_server: false,
    dns_name: "",
    "binding:host_id": "",
    "binding:profile": withoutComputeMembers(profile),
  });
}

function isInUse(context: NetworkContext, port: PortRecord): boolean {
  try {
    for (const check of PORT_GUARDS) {
      check(context, port);
    }
    return false;
  } catch (error) {
    if (error instanceof HttpError) {
      return true;
    }
    throw error;
  }
}

/** Returns the members of a profile that a user has set. */
export function withoutComputeMembers(profile: BindingDetails): BindingDetails {
  return Object.fromEntries(Object.entries(profile).filter(([name]) => !PROFILE_OF_COMPUTE.includes(name)));
}

/**
 * Adds an address of the first subnet of the port's network that has a free one.
 * @throws {HttpError} the error of the last subnet if none has one
 */
export function addAddress(context: NetworkContext, port: PortRecord): void {
  const current = fixedIpsOf(context, [port.id]).get(port.id) ?? [];
  let failure: HttpError | undefined;
  for (const { id } of context.table(SUBNETS).find(where`network_id = ${port.network_id}`)) {
    try {
      context.sql.transaction(() => {
        updateRecord(context, PORTS, port.id, { fixed_ips: [...current, { subnet_id: id }] });
      });
      return;
    } catch (error) {
      if (!(error instanceof HttpError)) {
        throw error;
      }
      failure = error;
    }
  }
  throw (
    failure ??
    networkError(409, "IpAddressGenerationFailure", `No more IP addresses available on network ${port.network_id}.`)
  );
}

/** Removes an address from a port that has it. */
export function removeAddress(context: NetworkContext, port: PortRecord, address: string): void {
  const current = fixedIpsOf(context, [port.id]).get(port.id) ?? [];
  updateRecord(context, PORTS, port.id, {
    fixed_ips: current.filter(({ ip_address: own }) => own !== address),
  });
}
