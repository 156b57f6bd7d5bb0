import type { Cloud, Json } from "../support/cloud.js";

const SERVER_FIELDS = [
  "status",
  "OS-EXT-SRV-ATTR:host",
  "OS-EXT-SRV-ATTR:hypervisor_hostname",
  "OS-EXT-STS:task_state",
  "OS-EXT-STS:vm_state",
  "OS-EXT-STS:power_state",
  "host_status",
] as const;
const MIGRATION_FIELDS = [
  "id",
  "migration_type",
  "status",
  "source_compute",
  "source_node",
  "dest_compute",
  "dest_node",
  "old_instance_type_id",
  "new_instance_type_id",
] as const;

/** The state compared between a recording and a local cluster: names instead of ids, and changes of generations. */
export interface ClusterState {
  /** `server vm1`, `migration resize of vm1 (devstack1->devstack2, finished)` → provider → amounts. */
  readonly held: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Differences of each provider's generation to the step before. */
  readonly generations: Readonly<Record<string, number>>;
  readonly servers: Readonly<Record<string, unknown>>;
  readonly migrations: readonly unknown[];
  readonly services: Readonly<Record<string, unknown>>;
}

export interface Snapshot {
  readonly state: Omit<ClusterState, "generations">;
  readonly generations: Readonly<Record<string, number>>;
}

export function differences(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after).map(([name, generation]) => [name, generation - (before[name] ?? 0)]),
  );
}

function pick(from: Json, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field, from[field] ?? null]));
}

const list = (json: Json | undefined): Json[] => Object.values(json ?? {});
const entries = (json: Json | undefined): [string, Json][] => Object.entries(json ?? {});

/** Returns the state at the end of a recorded step. */
export function recordedSnapshot(recorded: Json): Snapshot {
  const providers = entries(recorded.providers);
  const names = new Map(providers.map(([name, { uuid }]) => [String(uuid), name]));
  return {
    state: {
      held: Object.fromEntries(
        list(recorded.consumers).map((consumer) => [String(consumer._consumer), heldBy(consumer, names)]),
      ),
      servers: Object.fromEntries(
        entries(recorded.servers).map(([name, server]) => [
          name,
          { ...pick(server, SERVER_FIELDS), flavor: server.flavor },
        ]),
      ),
      migrations: list(recorded.migrations).map((migration) => pick(migration, MIGRATION_FIELDS)),
      services: servicesOf(list(recorded.services)),
    },
    generations: Object.fromEntries(providers.map(([name, { generation }]) => [name, Number(generation)])),
  };
}

/** Returns the state of a running cluster, from its public APIs. */
export async function clusterSnapshot(cloud: Cloud): Promise<Snapshot> {
  const [listed, servers, migrations, services] = await Promise.all([
    cloud.placement("GET", "/resource_providers"),
    cloud.compute("GET", "/servers/detail?all_tenants=1", undefined, "2.90"),
    cloud.compute("GET", "/os-migrations", undefined, "2.90"),
    cloud.compute("GET", "/os-services?binary=nova-compute", undefined, "2.90"),
  ]);
  const providers = list(listed.body.resource_providers);
  const names = new Map(providers.map(({ uuid, name }) => [String(uuid), String(name)]));
  const serverNames = new Map(list(servers.body.servers).map(({ id, name }) => [String(id), String(name)]));
  const labels = new Map([...serverNames].map(([id, name]) => [id, `server ${name}`]));
  for (const migration of list(migrations.body.migrations)) {
    const { uuid, instance_uuid, migration_type, source_compute, dest_compute, status } = migration;
    const of = serverNames.get(String(instance_uuid)) ?? String(instance_uuid);
    labels.set(String(uuid), `migration ${migration_type} of ${of} (${source_compute}->${dest_compute}, ${status})`);
  }
  const consumers = new Set<string>();
  const generations: Record<string, number> = {};
  for (const { uuid, name } of providers) {
    const { body } = await cloud.placement("GET", `/resource_providers/${uuid}/allocations`);
    generations[String(name)] = Number(body.resource_provider_generation);
    for (const [consumer] of entries(body.allocations)) {
      consumers.add(consumer);
    }
  }
  const held: Record<string, Record<string, unknown>> = {};
  for (const consumer of consumers) {
    const { body } = await cloud.placement("GET", `/allocations/${consumer}`);
    held[labels.get(consumer) ?? consumer] = heldBy(body, names);
  }
  return {
    state: {
      held,
      servers: Object.fromEntries(
        list(servers.body.servers).map((server) => [
          String(server.name),
          { ...pick(server, SERVER_FIELDS), flavor: server.flavor?.original_name },
        ]),
      ),
      migrations: list(migrations.body.migrations).map((migration) => pick(migration, MIGRATION_FIELDS)),
      services: servicesOf(list(services.body.services)),
    },
    generations,
  };
}

function heldBy(consumer: Json, names: ReadonlyMap<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    entries(consumer.allocations).map(([uuid, { resources }]) => [names.get(uuid) ?? uuid, resources]),
  );
}

function servicesOf(services: readonly Json[]): Record<string, unknown> {
  return Object.fromEntries(
    services.map((service) => [String(service.host), pick(service, ["status", "state", "forced_down"])]),
  );
}
