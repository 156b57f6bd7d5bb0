import type { CloudSession } from "./cloud-session.js";

/** A guest as its hypervisor has it. */
export interface HypervisorGuest {
  /** The state of the instance. */
  readonly uuid: string;
  readonly name: string;
  /** `running`, `shut off`, `paused` … */
  readonly state: string;
}

interface GuestStatus extends HypervisorGuest {
  /** `stale`: the state of record has the instance on another host. `unknown`: it has no such instance. */
  readonly record: "here" | "stale" | "unknown";
}

/** One host, or one provider that no host answers for, or a hypervisor that no host has, or the servers without a host. */
export interface HostStatus {
  /** Null: a provider without a compute service, or, without a provider either, the servers that are on no host. */
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
    /** class → used and what can be had, (total - reserved) * ratio, of the provider and those below it. */
    readonly usages: Readonly<Record<string, { readonly used: number; readonly capacity: number }>>;
  } | null;
  /** Instances that the state of record puts here. */
  readonly servers: readonly { readonly id: string; readonly name: string; readonly status: string }[];
  /**
   * What its fake-libvirt hypervisor has; nothing in the row of servers without a host. Null: there is no hypervisor of the
   * host's name in the state directory.
   */
  readonly guests: readonly GuestStatus[] | null;
}

/** Servers asked for at a time. */
const PAGE = 1000;

interface ServiceView {
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
interface ServerView {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly "OS-EXT-SRV-ATTR:host": string | null;
  readonly "OS-EXT-SRV-ATTR:hypervisor_hostname": string | null;
}
interface ProviderView {
  readonly uuid: string;
  readonly name: string;
  readonly generation: number;
  readonly root_provider_uuid: string;
}
interface InventoryView {
  readonly total: number;
  readonly reserved: number;
  readonly allocation_ratio: number;
}

/**
 * Hosts, providers, usages, servers and guests, joined by compute node uuid and host; what child providers have counts for
 * their root.
 * @param guests what each hypervisor has, by host
 */
export async function clusterStatus(
  session: CloudSession,
  guests: ReadonlyMap<string, readonly HypervisorGuest[]>,
): Promise<HostStatus[]> {
  const compute = (path: string) => session.request("compute", "GET", path, "2.90");
  const placement = (path: string) => session.request("placement", "GET", path, "1.39");
  const [services, hypervisors, servers, providers] = await Promise.all([
    compute("/os-services?binary=nova-compute") as Promise<{ services: ServiceView[] }>,
    compute("/os-hypervisors/detail") as Promise<{ hypervisors: HypervisorView[] }>,
    allServers(compute),
    placement("/resource_providers") as Promise<{ resource_providers: ProviderView[] }>,
  ]);
  const hostOf = new Map(hypervisors.hypervisors.map((node) => [node.id, node.service.host]));
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
  const counts = new Map<string | null, number>();
  for (const { host } of all) {
    counts.set(host, (counts.get(host) ?? 0) + 1);
  }
  const homeless = servers.filter((server) => !server["OS-EXT-SRV-ATTR:host"]).map(serverView);
  const hostless = homeless.length === 0 ? [] : [{ ...EMPTY, servers: homeless, guests: [] }];
  const known = all
    .map((row) => ({
      ...row,
      service: serviceOf(services.services, row.host),
      servers: serversOf(servers, row, counts.get(row.host) !== 1),
      guests: guestsOf(guests, servers, row.host),
    }))
    .sort((a, b) => name(a).localeCompare(name(b), "en", { numeric: true }));
  return [...known, ...hostless];
}

const EMPTY: HostStatus = { host: null, service: null, provider: null, servers: [], guests: null };

async function allServers(compute: (path: string) => Promise<unknown>): Promise<readonly ServerView[]> {
  const all: ServerView[] = [];
  for (;;) {
    const last = all.at(-1);
    const marker = last === undefined ? "" : `&marker=${last.id}`;
    const { servers } = (await compute(`/servers/detail?all_tenants=True&limit=${PAGE}${marker}`)) as {
      servers: ServerView[];
    };
    all.push(...servers);
    if (servers.length < PAGE) {
      return all;
    }
  }
}

function guestsOf(
  guests: ReadonlyMap<string, readonly HypervisorGuest[]>,
  servers: readonly ServerView[],
  host: string | null,
): HostStatus["guests"] {
  const found = host === null ? undefined : guests.get(host);
  if (found === undefined) {
    return null;
  }
  const recorded = new Map(servers.map((server) => [server.id, server["OS-EXT-SRV-ATTR:host"]]));
  return found.map((guest) => {
    const where = recorded.get(guest.uuid);
    return { ...guest, record: where === undefined ? "unknown" : where === host ? "here" : "stale" };
  });
}

const name = (row: HostStatus): string => row.host ?? row.provider?.name ?? "";

function serviceOf(services: readonly ServiceView[], host: string | null): HostStatus["service"] {
  const service = services.find((candidate) => candidate.host === host);
  return service === undefined
    ? null
    : { state: service.state, status: service.status, forcedDown: service.forced_down };
}

/** @param byNode the host has several nodes, each of which has its own servers */
function serversOf(
  servers: readonly ServerView[],
  { host, provider }: HostStatus,
  byNode: boolean,
): HostStatus["servers"] {
  return host === null
    ? []
    : servers
        .filter((server) => server["OS-EXT-SRV-ATTR:host"] === host)
        .filter((server) => !byNode || server["OS-EXT-SRV-ATTR:hypervisor_hostname"] === provider?.name)
        .map(serverView);
}

function serverView({ id, name: called, status }: ServerView): HostStatus["servers"][number] {
  return {
    id,
    name: called,
    status,
  };
}

type Usages = NonNullable<HostStatus["provider"]>["usages"];

/** Every root provider, with what its whole tree has. */
async function describeTrees(
  placement: (path: string) => Promise<unknown>,
  providers: readonly ProviderView[],
): Promise<readonly NonNullable<HostStatus["provider"]>[]> {
  const trees = new Map<string, Usages>();
  const add = async ({ uuid, root_provider_uuid: root }: ProviderView) => {
    const usages = await usagesOf(placement, uuid);
    trees.set(root, sumOfUsages(trees.get(root) ?? {}, usages));
  };
  await Promise.all(providers.map(add));
  return providers
    .filter(({ uuid, root_provider_uuid: root }) => uuid === root)
    .map(({ uuid, name: called, generation }) => ({
      uuid,
      name: called,
      generation,
      usages: trees.get(uuid) ?? {},
    }));
}

/** Adds the usages of two providers, class by class. */
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
