import { FINAL_MIGRATION_STATUSES, type HypervisorGuest } from "../../records/index.js";
import { mapConcurrently } from "../../runtime/task-queue.js";
import { explainedFault } from "../scheduler/errors.js";
import type { CloudSession } from "./cloud-session.js";

export type { HypervisorGuest };

interface GuestStatus extends HypervisorGuest {
  /**
   * `moving`: the instance is recorded on another host, with an active move or an unconfirmed resize between the two.
   * `stale`: it is recorded on another host without such a move. `unknown`: there is no such instance.
   */
  readonly record: "here" | "moving" | "stale" | "unknown";
}

export interface ServerStatus {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  /** The error of a server in ERROR with its explanation for operators; null if it has none. */
  readonly fault: ServerFault | null;
}

interface ServerFault {
  readonly message: string;
  /** ISO 8601. */
  readonly created: string;
}

/** A row of the status: a host, a provider without a host, a hypervisor without a host, or the servers without a host. */
export interface HostStatus {
  /** Null for a provider without a compute service. Without a provider as well, the row lists servers that have no host. */
  readonly host: string | null;
  readonly service: {
    readonly state: "up" | "down";
    readonly status: "enabled" | "disabled";
    readonly forcedDown: boolean;
  } | null;
  readonly provider: {
    readonly uuid: string;
    readonly name: string;
    readonly generation: number;
    /**
     * Used and total amounts by resource class, of the provider and those below it. The total is (total - reserved) *
     * ratio.
     */
    readonly usages: Readonly<Record<string, { readonly used: number; readonly capacity: number }>>;
  } | null;
  /** Instances that are recorded on this host. */
  readonly servers: readonly ServerStatus[];
  /**
   * Guests of its hypervisor; empty in the row of servers without a host. Null: the state directory has no fake-libvirt
   * hypervisor of this host, and no agent reports guests.
   */
  readonly guests: readonly GuestStatus[] | null;
}

type GuestsByHost = ReadonlyMap<string, readonly HypervisorGuest[]>;

/** Max parallel requests for providers. */
const REQUESTS = 16;

/** Page size of requests for servers and hypervisors. */
const PAGE = 1000;

export interface ServiceView {
  readonly host: string;
  readonly state: "up" | "down";
  readonly status: "enabled" | "disabled";
  readonly forced_down: boolean;
}
interface HypervisorView {
  readonly id: string;
  readonly hypervisor_hostname: string;
  readonly service: { readonly host: string };
}
/** Fields of a server that {@link serverStatus} reads. */
export interface NamedServer {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  /** Absent if the server is not in ERROR, or no fault was recorded. */
  readonly fault?: { readonly message: string; readonly details?: string; readonly created: string };
}
interface ServerView extends NamedServer {
  readonly "OS-EXT-SRV-ATTR:host": string | null;
  readonly "OS-EXT-SRV-ATTR:hypervisor_hostname": string | null;
}
interface ProviderView {
  readonly uuid: string;
  readonly name: string;
  readonly generation: number;
  readonly root_provider_uuid: string;
}
interface MigrationView {
  readonly instance_uuid: string;
  readonly migration_type: string;
  readonly status: string;
  readonly source_compute: string | null;
  readonly dest_compute: string | null;
}
interface InventoryView {
  readonly total: number;
  readonly reserved: number;
  readonly allocation_ratio: number;
}

/**
 * Joins hosts, providers, usages, servers and guests by compute node uuid and host. Usages of child providers count for
 * their root.
 * @param inFolders guests of hypervisors in the state directory, by host
 * @param reported calls the agents of these hosts, which are up, for their guests
 */
export async function clusterStatus(
  session: CloudSession,
  inFolders: GuestsByHost,
  reported: (hosts: readonly string[]) => Promise<GuestsByHost>,
): Promise<HostStatus[]> {
  const compute = (path: string) => session.request("compute", "GET", path, "2.90");
  const placement = (path: string) => session.request("placement", "GET", path, "1.39");
  const [services, hypervisors, servers, providers] = await Promise.all([
    compute("/os-services?binary=nova-compute") as Promise<{ services: ServiceView[] }>,
    readAll<HypervisorView>(compute, "/os-hypervisors/detail", "hypervisors"),
    readAll<ServerView>(compute, "/servers/detail?all_tenants=True", "servers"),
    placement("/resource_providers") as Promise<{ resource_providers: ProviderView[] }>,
  ]);
  // A host with several nodes is bare metal; its agent has no guests to report.
  const nodesOf = countOf(hypervisors.map(({ service }) => service.host));
  const queriedServices = services.services.filter(
    ({ host, state }) => state === "up" && !inFolders.has(host) && (nodesOf.get(host) ?? 0) <= 1,
  );
  const guests = new Map([...inFolders, ...(await reported(queriedServices.map(({ host }) => host)))]);
  const hostOf = new Map(hypervisors.map((node) => [node.id, node.service.host]));
  const described = await describeTrees(placement, providers.resource_providers);
  const rows = described.map((provider): HostStatus => {
    const host = hostOf.get(provider.uuid) ?? null;
    return { ...EMPTY, host, provider };
  });
  const hosts = new Set(rows.map((row) => row.host));
  const withGuests = [...guests].filter(([, found]) => found.length > 0).map(([host]) => host);
  const withServers = servers.flatMap((server) => server["OS-EXT-SRV-ATTR:host"] ?? []);
  const without = [...new Set([...services.services.map(({ host }) => host), ...withGuests, ...withServers])]
    .filter((host) => !hosts.has(host))
    .map((host): HostStatus => ({ ...EMPTY, host }));
  const all = [...rows, ...without];
  const counts = countOf(all.map(({ host }) => host));
  const serviceOf = new Map(services.services.map((service) => [service.host, serviceView(service)]));
  const serversOn = new Map<string | null, ServerView[]>();
  for (const server of servers) {
    const host = server["OS-EXT-SRV-ATTR:host"];
    const here = serversOn.get(host) ?? [];
    here.push(server);
    serversOn.set(host, here);
  }
  const recorded = new Map(servers.map((server) => [server.id, server]));
  const moving = await movingHosts(compute, guests, recorded);
  const homeless = servers.filter((server) => !server["OS-EXT-SRV-ATTR:host"]).map(serverStatus);
  const hostless = homeless.length === 0 ? [] : [{ ...EMPTY, servers: homeless, guests: [] }];
  const known = all
    .map((row) => ({
      ...row,
      service: row.host === null ? null : (serviceOf.get(row.host) ?? null),
      servers: serversOf(serversOn.get(row.host) ?? [], row, counts.get(row.host) !== 1),
      guests: guestsOf(guests, { recorded, moving }, row.host),
    }))
    .sort((a, b) => BY_NAME.compare(name(a), name(b)));
  return [...known, ...hostless];
}

const EMPTY: HostStatus = { host: null, service: null, provider: null, servers: [], guests: null };

/** Shared, since `localeCompare` creates a collator per call. */
const BY_NAME = new Intl.Collator("en", { numeric: true });

function countOf<T>(values: readonly T[]): ReadonlyMap<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) {
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return counts;
}

async function readAll<T extends { readonly id: string }>(
  compute: (path: string) => Promise<unknown>,
  path: string,
  key: string,
): Promise<readonly T[]> {
  const all: T[] = [];
  for (;;) {
    const last = all.at(-1);
    const page = `${path}${path.includes("?") ? "&" : "?"}limit=${PAGE}${last === undefined ? "" : `&marker=${last.id}`}`;
    const found = ((await compute(page)) as Readonly<Record<string, readonly T[]>>)[key] ?? [];
    all.push(...found);
    if (found.length < PAGE) {
      return all;
    }
  }
}

/** Returns the hosts involved in moves by server, for servers with a guest on a host other than their own. */
async function movingHosts(
  compute: (path: string) => Promise<unknown>,
  guests: GuestsByHost,
  recorded: ReadonlyMap<string, ServerView>,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const elsewhere = [...guests].flatMap(([host, found]) =>
    found.flatMap(({ uuid }) => {
      const server = recorded.get(uuid);
      return server === undefined || server["OS-EXT-SRV-ATTR:host"] === host ? [] : [server];
    }),
  );
  const hosts = new Map<string, Set<string>>();
  await mapConcurrently([...new Set(elsewhere)], REQUESTS, async ({ id, status }) => {
    const { migrations } = (await compute(`/os-migrations?instance_uuid=${id}`)) as { migrations: MigrationView[] };
    hosts.set(id, new Set(migrations.flatMap((migration) => hostsOfMove(migration, status))));
  });
  return hosts;
}

/** Returns the hosts where an active move may have a guest. An evacuation has only one: its source is down. */
function hostsOfMove(move: MigrationView, serverStatus: string): readonly string[] {
  const { migration_type: type, status, source_compute: source, dest_compute: destination } = move;
  const isOver =
    FINAL_MIGRATION_STATUSES.some((final) => final === status) ||
    (status === "finished" && serverStatus !== "VERIFY_RESIZE");
  const hosts = type === "evacuation" ? [destination] : [source, destination];
  return isOver ? [] : hosts.filter((host) => host !== null);
}

function guestsOf(
  guests: GuestsByHost,
  known: {
    readonly recorded: ReadonlyMap<string, ServerView>;
    readonly moving: ReadonlyMap<string, ReadonlySet<string>>;
  },
  host: string | null,
): HostStatus["guests"] {
  const found = host === null ? undefined : guests.get(host);
  if (host === null || found === undefined) {
    return null;
  }
  return found.map((guest) => {
    const server = known.recorded.get(guest.uuid);
    if (server === undefined) {
      return { ...guest, record: "unknown" };
    }
    if (server["OS-EXT-SRV-ATTR:host"] === host) {
      return { ...guest, record: "here" };
    }
    return { ...guest, record: known.moving.get(guest.uuid)?.has(host) === true ? "moving" : "stale" };
  });
}

const name = (row: HostStatus): string => row.host ?? row.provider?.name ?? "";

function serviceView({ state, status, forced_down: forcedDown }: ServiceView): HostStatus["service"] {
  return { state, status, forcedDown };
}

/** @param servers servers of the host @param byNode the host has several nodes, each with its own servers */
function serversOf(
  servers: readonly ServerView[],
  { host, provider }: HostStatus,
  byNode: boolean,
): HostStatus["servers"] {
  return host === null
    ? []
    : servers
        .filter((server) => !byNode || server["OS-EXT-SRV-ATTR:hypervisor_hostname"] === provider?.name)
        .map(serverStatus);
}

/** Returns a server with its fault in one line for operators. */
export function serverStatus({ id, name: called, status, fault }: NamedServer): ServerStatus {
  return {
    id,
    name: called,
    status,
    fault: fault === undefined ? null : { message: explainedFault(fault), created: fault.created },
  };
}

type Usages = NonNullable<HostStatus["provider"]>["usages"];

/** Returns every root provider with the usages of its tree. */
async function describeTrees(
  placement: (path: string) => Promise<unknown>,
  providers: readonly ProviderView[],
): Promise<readonly NonNullable<HostStatus["provider"]>[]> {
  const trees = new Map<string, Usages>();
  const add = async ({ uuid, root_provider_uuid: root }: ProviderView) => {
    const usages = await usagesOf(placement, uuid);
    trees.set(root, sumOfUsages(trees.get(root) ?? {}, usages));
  };
  await mapConcurrently(providers, REQUESTS, add);
  return providers
    .filter(({ uuid, root_provider_uuid: root }) => uuid === root)
    .map(({ uuid, name: called, generation }) => ({
      uuid,
      name: called,
      generation,
      usages: trees.get(uuid) ?? {},
    }));
}

/** Adds the usages of two providers by resource class. */
export function sumOfUsages(one: Usages, other: Usages): Usages {
  const sum = { ...one };
  for (const [resourceClass, { used, capacity }] of Object.entries(other)) {
    const before = sum[resourceClass] ?? { used: 0, capacity: 0 };
    sum[resourceClass] = { used: before.used + used, capacity: before.capacity + capacity };
  }
  return sum;
}

async function usagesOf(placement: (path: string) => Promise<unknown>, uuid: string): Promise<Usages> {
  const path = `/resource_providers/${uuid}`;
  const [inventories, usages] = await Promise.all([
    placement(`${path}/inventories`) as Promise<{ inventories: Record<string, InventoryView> }>,
    placement(`${path}/usages`) as Promise<{ usages: Record<string, number> }>,
  ]);
  return Object.fromEntries(
    Object.entries(inventories.inventories).map(([resourceClass, inventory]) => [
      resourceClass,
      {
        used: usages.usages[resourceClass] ?? 0,
        capacity: Math.floor((inventory.total - inventory.reserved) * inventory.allocation_ratio),
      },
    ]),
  );
}
