import type { CloudSession } from "./cloud-session.js";

/** One host, or one provider that no host answers for. */
export interface HostStatus {
  /** Null: a provider without a compute service. */
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
    /** class → used and what can be had: (total - reserved) * ratio */
    readonly usages: Readonly<Record<string, { readonly used: number; readonly capacity: number }>>;
  } | null;
  /** Instances that the state of record puts here. */
  readonly servers: readonly { readonly id: string; readonly name: string; readonly status: string }[];
}

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

/** Hosts, providers, usages and servers, joined by compute node uuid; providers of children are left to Placement's own tools. */
export const clusterStatus = async (session: CloudSession): Promise<HostStatus[]> => {
  const compute = (path: string) => session.request("compute", "GET", path, "2.90");
  const placement = (path: string) => session.request("placement", "GET", path, "1.39");
  const [services, hypervisors, servers, providers] = await Promise.all([
    compute("/os-services?binary=nova-compute") as Promise<{ services: ServiceView[] }>,
    compute("/os-hypervisors/detail") as Promise<{ hypervisors: HypervisorView[] }>,
    compute("/servers/detail?all_tenants=True&limit=1000") as Promise<{ servers: ServerView[] }>,
    placement("/resource_providers") as Promise<{ resource_providers: ProviderView[] }>,
  ]);
  const hostOf = new Map(hypervisors.hypervisors.map((node) => [node.id, node.service.host]));
  const roots = providers.resource_providers.filter((provider) => provider.uuid === provider.root_provider_uuid);
  const described = await Promise.all(roots.map((provider) => describeProvider(placement, provider)));
  const rows = described.map((provider): HostStatus => {
    const host = hostOf.get(provider.uuid) ?? null;
    return { host, service: null, provider, servers: [] };
  });
  const hosts = new Set(rows.map((row) => row.host));
  const without = services.services
    .filter((service) => !hosts.has(service.host))
    .map((service): HostStatus => ({ host: service.host, service: null, provider: null, servers: [] }));
  return [...rows, ...without]
    .map((row) => ({
      ...row,
      service: serviceOf(services.services, row.host),
      servers: serversOf(servers.servers, row.host),
    }))
    .sort((a, b) => name(a).localeCompare(name(b), "en", { numeric: true }));
};

const name = (row: HostStatus): string => row.host ?? row.provider?.name ?? "";

const serviceOf = (services: readonly ServiceView[], host: string | null): HostStatus["service"] => {
  const service = services.find((candidate) => candidate.host === host);
  return service === undefined
    ? null
    : { state: service.state, status: service.status, forcedDown: service.forced_down };
};

const serversOf = (servers: readonly ServerView[], host: string | null): HostStatus["servers"] =>
  host === null
    ? []
    : servers
        .filter((server) => server["OS-EXT-SRV-ATTR:host"] === host)
        .map(({ id, name, status }) => ({ id, name, status }));

const describeProvider = async (
  placement: (path: string) => Promise<unknown>,
  provider: ProviderView,
): Promise<NonNullable<HostStatus["provider"]>> => {
  const path = `/resource_providers/${provider.uuid}`;
  const [inventories, usages] = await Promise.all([
    placement(`${path}/inventories`) as Promise<{ inventories: Record<string, InventoryView> }>,
    placement(`${path}/usages`) as Promise<{ usages: Record<string, number> }>,
  ]);
  return {
    uuid: provider.uuid,
    name: provider.name,
    generation: provider.generation,
    usages: Object.fromEntries(
      Object.entries(inventories.inventories).map(([resourceClass, inventory]) => [
        resourceClass,
        {
          used: usages.usages[resourceClass] ?? 0,
          capacity: Math.floor((inventory.total - inventory.reserved) * inventory.allocation_ratio),
        },
      ]),
    ),
  };
};
