import type { NetworkContext } from "../engine/network-context.js";
import { type BindingDetails, PORT_BINDINGS, PORTS, type PortBindingRecord } from "../resources/ports.js";
import type { PortResources } from "../server-ports.js";
import { bindingsOf } from "./host-bindings.js";
import { type RequestingPort, requestingPorts, resourceRequestsOf } from "./resource-requests.js";

/**
 * Providers of hosts from which ports have resources, as `{ [group]: provider }`. A server that moves has those of both
 * hosts, and may return to the first.
 */
export const PORT_ALLOCATIONS_TABLE = `CREATE TABLE IF NOT EXISTS network_port_allocations (
  port_id TEXT NOT NULL REFERENCES network_ports (id) ON DELETE CASCADE,
  host TEXT NOT NULL,
  allocation TEXT NOT NULL,
  PRIMARY KEY (port_id, host)
) STRICT`;

/** Providers by the id of the request group that they satisfy. */
export type PortAllocation = Readonly<Record<string, string>>;

/** The part of a binding that its allocation depends on. */
export type AllocatedBinding = Pick<PortBindingRecord, "id" | "port_id" | "host" | "profile">;

/** The ports of a server, or one of them, on a host. */
interface PortsOnHost {
  readonly uuid: string;
  readonly host: string;
  readonly portId: string | undefined;
}

/** Replaces the allocations of ports on a host, in their bindings as well. */
export function saveAllocations(
  context: NetworkContext,
  { uuid, host, portId }: PortsOnHost,
  mappings: Readonly<Record<string, readonly string[]>>,
): void {
  const { sql } = context;
  if (Object.keys(mappings).length === 0 && !hasAllocations(context, uuid)) {
    return;
  }
  const ids = portId === undefined ? sql.strings("SELECT id FROM network_ports WHERE device_id = ?", uuid) : [portId];
  sql.run(
    "DELETE FROM network_port_allocations WHERE host = ? AND port_id IN (SELECT value FROM json_each(?))",
    host,
    JSON.stringify(ids),
  );
  for (const [id, { request_groups: groups }] of resourceRequestsOf(context, requestingPorts(context, null, ids))) {
    const allocation: PortAllocation = Object.fromEntries(
      groups.flatMap(({ id: group }) => {
        const provider = mappings[group]?.[0];
        return provider === undefined ? [] : [[group, provider]];
      }),
    );
    if (Object.keys(allocation).length > 0) {
      sql.run("INSERT INTO network_port_allocations VALUES (?, ?, ?)", id, host, JSON.stringify(allocation));
    }
  }
  refreshProfiles(context, ids, host);
}

function hasAllocations({ sql }: NetworkContext, serverUuid: string): boolean {
  const text = `SELECT 1 FROM network_ports AS port JOIN network_port_allocations ON port_id = port.id
    WHERE port.device_id = ? LIMIT 1`;
  return sql.get(text, serverUuid) !== undefined;
}

/** Returns the resources that ports have on the hosts of their active bindings, by provider. */
export function allocatedResources(context: NetworkContext, ports: readonly RequestingPort[]): PortResources {
  const requests = resourceRequestsOf(context, ports);
  const bindings = bindingsOf(context, [...requests.keys()]);
  const amounts: Record<string, Record<string, number>> = {};
  for (const [id, { request_groups: groups }] of requests) {
    const providers = allocationIn(bindings.get(id)?.find(({ status }) => status === "ACTIVE")?.profile);
    for (const { id: group, resources } of groups) {
      const provider = providers[group];
      if (provider !== undefined) {
        const sums = amounts[provider] ?? {};
        amounts[provider] = sums;
        for (const [name, amount] of Object.entries(resources)) {
          sums[name] = (sums[name] ?? 0) + amount;
        }
      }
    }
  }
  return Object.fromEntries(Object.entries(amounts).map(([provider, resources]) => [provider, { resources }]));
}

/** Returns the allocation that a binding's profile contains; empty if it has none. */
export function allocationIn(profile: BindingDetails | null | undefined): PortAllocation {
  const allocation = profile?.allocation;
  return typeof allocation === "object" ? (allocation as unknown as PortAllocation) : {};
}

/** Returns a binding's profile for a host: the other members, and the port's allocation there. */
export function profileOn(
  { sql }: NetworkContext,
  portId: string,
  host: string,
  profile: BindingDetails | null | undefined,
): BindingDetails {
  const [stored] =
    sql.get("SELECT allocation FROM network_port_allocations WHERE port_id = ? AND host = ?", portId, host) ?? [];
  const { allocation: _previous, ...others } = profile ?? {};
  return typeof stored === "string" ? { ...others, allocation: JSON.parse(stored) as PortAllocation } : others;
}

/** Replaces the allocation of a port on the host of a binding. */
export function replaceAllocation(
  context: NetworkContext,
  { id, port_id: portId, host, profile }: AllocatedBinding,
  allocation: PortAllocation,
): void {
  context.table(PORT_BINDINGS).update(id, { profile: { ...profile, allocation } });
  context.sql.execute(
    "UPDATE network_port_allocations SET allocation = ? WHERE port_id = ? AND host = ?",
    JSON.stringify(allocation),
    portId,
    host,
  );
}

/** Forgets the allocations of a port that leaves its server. */
export function forgetAllocations({ sql }: NetworkContext, portId: string): void {
  sql.execute("DELETE FROM network_port_allocations WHERE port_id = ?", portId);
}

function refreshProfiles(context: NetworkContext, portIds: readonly string[], host: string): void {
  for (const binding of [...bindingsOf(context, portIds).values()].flat()) {
    const profile = profileOn(context, binding.port_id, host, binding.profile);
    if (binding.host === host && JSON.stringify(profile) !== JSON.stringify(binding.profile ?? {})) {
      context.table(PORT_BINDINGS).update(binding.id, { profile });
      context.touch(PORTS, binding.port_id);
    }
  }
}
