import { checkSnapshot } from "../../../../src/audit/audit.js";
import type { Finding } from "../../../../src/audit/checks/finding.js";
import type {
  ConsumerRecord,
  Held,
  Hypervisor,
  Inventory,
  Migration,
  Port,
  Provider,
  Server,
  Snapshot,
  Volume,
} from "../../../../src/audit/read/records.js";
import type { HypervisorGuest } from "../../../../src/records/index.js";

/** A server's guest, which is shut off by default. */
export const guest = (uuid: string, state = "shut off"): HypervisorGuest => ({ uuid, name: `guest-${uuid}`, state });

export const NOW = 10_000_000;
/** The resources that every server of these snapshots needs. */
export const NEED = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };

export function inventory(total: number, more: Partial<Inventory> = {}): Inventory {
  return {
    total,
    reserved: 0,
    min_unit: 1,
    max_unit: total,
    step_size: 1,
    allocation_ratio: 1,
    ...more,
  };
}

const STOCK = { VCPU: inventory(8), MEMORY_MB: inventory(4096), DISK_GB: inventory(100) };

/** Node and provider have the uuid `one`, the host `host-one` and the name `node-one`. */
export function node(uuid: string, more: Partial<Hypervisor> = {}): Hypervisor {
  return {
    uuid,
    name: `node-${uuid}`,
    host: `host-${uuid}`,
    serviceUp: true,
    type: "QEMU",
    totals: null,
    ...more,
  };
}

export function provider(uuid: string, more: Partial<Provider> = {}): Provider {
  return {
    uuid,
    name: `node-${uuid}`,
    generation: 1,
    parent: null,
    root: more.parent ?? uuid,
    inventories: STOCK,
    isNovas: false,
    ...more,
  };
}

/** An active server at rest on the node with that uuid. */
export function server(id: string, on: string | null, more: Partial<Server> = {}): Server {
  return {
    id,
    name: `name-${id}`,
    projectId: "project",
    userId: "user",
    host: on === null ? null : `host-${on}`,
    node: on === null ? null : `node-${on}`,
    status: "ACTIVE",
    vmState: "active",
    taskState: null,
    volumeBacked: false,
    volumes: [],
    flavor: { vcpus: 1, memoryMb: 512, rootGb: 1, ephemeralGb: 0, swap: 0, extraSpecs: {} },
    ...more,
  };
}

/** An old migration from host-one to host-two. */
export function migration(of: string, status: string, more: Partial<Migration> = {}): Migration {
  return {
    id: 7,
    uuid: "move",
    server: of,
    type: "migration",
    status,
    sourceHost: "host-one",
    sourceNode: "node-one",
    destHost: "host-two",
    destNode: "node-two",
    changedAt: 0,
    ...more,
  };
}

export interface Parts {
  readonly nodes?: readonly Hypervisor[];
  readonly providers?: readonly Provider[];
  readonly servers?: readonly Server[];
  readonly migrations?: readonly Migration[];
  readonly services?: Snapshot["services"];
  /** By consumer. */
  readonly held?: Readonly<Record<string, Held>>;
  readonly records?: readonly Partial<ConsumerRecord>[];
  readonly knowsMigrationConsumers?: boolean;
  /** By host. */
  readonly guests?: Readonly<Record<string, readonly HypervisorGuest[]>>;
  /** Default: the cloud has no Network service. */
  readonly ports?: readonly Port[];
  /** Default: the cloud has no Block Storage service. */
  readonly volumes?: readonly Volume[];
}

/** Returns a snapshot, by default with two healthy hosts. */
export function snapshotOf(parts: Parts = {}): Snapshot {
  const { nodes = [node("one"), node("two")], servers = [], migrations = [], services = [], held = {} } = parts;
  const { providers = [provider("one"), provider("two")], records = [], knowsMigrationConsumers = true } = parts;
  const owner = { generation: 1, held: {}, projectId: "project", userId: "user", type: null };
  return {
    now: NOW,
    servers: new Map(servers.map((each) => [each.id, each])),
    migrations,
    knowsMigrationConsumers,
    hypervisors: nodes,
    services,
    providers: new Map(providers.map((each) => [each.uuid, each])),
    consumers: new Map(Object.entries(held).map(([uuid, each]) => [uuid, { uuid, generation: 1, held: each }])),
    guests: new Map(Object.entries(parts.guests ?? {})),
    ports: parts.ports === undefined ? null : new Map(parts.ports.map((each) => [each.id, each])),
    volumes: parts.volumes === undefined ? null : new Map(parts.volumes.map((each) => [each.id, each])),
    records: new Map(records.map((each) => [each.uuid ?? "", { uuid: "", ...owner, ...each }])),
  };
}

export function findingsOf(parts: Parts, maxShare = 1): readonly Finding[] {
  return checkSnapshot(snapshotOf(parts), { maxShare });
}

/** Returns the code and the subject of each finding. */
export function found(parts: Parts, maxShare = 1): readonly string[] {
  return findingsOf(parts, maxShare).map(({ code, subject }) => `${code} ${subject.uuid}`);
}
