import type { HypervisorGuest } from "../../records/index.js";
import type { FlavorNeed } from "../../records/resource-request.js";

/** Amounts by resource class. */
export type Amounts = Readonly<Record<string, number>>;

/** Provider uuid → amounts. */
export type Held = Readonly<Record<string, Amounts>>;

/** A server that is not deleted, as an administrator sees it. */
export interface Server {
  readonly id: string;
  readonly name: string;
  readonly projectId: string;
  /** Null if its cell did not respond. */
  readonly userId: string | null;
  /** Both are null if the server is unplaced. */
  readonly host: string | null;
  readonly node: string | null;
  /** `UNKNOWN` if its cell did not respond. */
  readonly status: string;
  readonly vmState: string;
  readonly taskState: string | null;
  readonly volumeBacked: boolean;
  /** The volumes of its block devices; null if Compute does not return them. */
  readonly volumes: readonly string[] | null;
  /** The copy of the flavor in the server's record. */
  readonly flavor: FlavorNeed;
}

export interface Migration {
  readonly id: number;
  /** Null below 2.59: its allocations cannot be distinguished from other consumers'. */
  readonly uuid: string | null;
  readonly server: string;
  /** `migration`, `resize`, `live-migration` or `evacuation`. */
  readonly type: string;
  readonly status: string;
  readonly sourceHost: string | null;
  readonly sourceNode: string | null;
  readonly destHost: string | null;
  readonly destNode: string | null;
  /** Milliseconds since the epoch. */
  readonly changedAt: number;
}

/** A compute node. */
export interface Hypervisor {
  readonly uuid: string;
  readonly name: string;
  readonly host: string;
  readonly serviceUp: boolean;
  readonly type: string;
  /** Total VCPU, MEMORY_MB and DISK_GB in the compute node's record; null if the cloud does not return them. */
  readonly totals: Amounts | null;
}

/** A nova-compute service. */
export interface ComputeService {
  readonly host: string;
  readonly up: boolean;
}

export interface Inventory {
  readonly total: number;
  readonly reserved: number;
  readonly min_unit: number;
  readonly max_unit: number;
  readonly step_size: number;
  readonly allocation_ratio: number;
}

export interface Provider {
  readonly uuid: string;
  readonly name: string;
  readonly generation: number;
  readonly parent: string | null;
  readonly root: string;
  readonly inventories: Readonly<Record<string, Inventory>>;
  /** It has the trait COMPUTE_NODE or OWNER_NOVA. */
  readonly isNovas: boolean;
  /** Providers that may use it through aggregates; undefined if it shares nothing. */
  readonly sharedWith?: ReadonlySet<string>;
}

/** A consumer with allocations, as its providers list it. */
export interface Consumer {
  readonly uuid: string;
  readonly generation: number | null;
  readonly held: Held;
}

/** A consumer as its own record describes it. */
export interface ConsumerRecord extends Consumer {
  readonly projectId: string | null;
  readonly userId: string | null;
  /** `unknown` if it was never set; null if Placement is too old to return it. */
  readonly type: string | null;
}

/** A port of a server, with the names of the Network API. */
export interface Port {
  readonly id: string;
  readonly name: string;
  /** The server. */
  readonly device_id: string;
  /** Begins with `compute:`. */
  readonly device_owner: string;
  /** The host of the active binding; empty: none. */
  readonly host: string;
  /** The resources that it requests, on the providers that the profile of its active binding names. */
  readonly allocated: Held;
  /** Bindings that are not active; empty if they were not read. */
  readonly inactive: readonly PortBinding[];
}

/** A binding of a port, as a request creates it. */
export interface PortBinding {
  readonly host: string;
  readonly vnic_type: string;
  readonly profile: Readonly<Record<string, unknown>>;
}

/** A volume, with the names of the Block Storage API. */
export interface Volume {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  /** The time of its last change, in milliseconds since the epoch. */
  readonly changedAt: number;
  /** Includes those that are reserved, and those of hosts without a server. */
  readonly attachments: readonly VolumeAttachment[];
}

/** An attachment of a volume. */
export interface VolumeAttachment {
  readonly id: string;
  /** The server that uses the volume; null if a host uses it itself. */
  readonly server: string | null;
  /** `reserved`, `attaching`, `attached` or `detached`. */
  readonly status: string;
  /** The host of the connector; null unless the attachment is in use. */
  readonly host: string | null;
  /** Whether the server's block device has this attachment; null if Compute did not return it, or it was not read. */
  readonly isOfDevice: boolean | null;
}

/** Data read from the cloud, before any checks. */
export interface Snapshot {
  /** Time of the read in milliseconds since the epoch. */
  readonly now: number;
  readonly servers: ReadonlyMap<string, Server>;
  readonly migrations: readonly Migration[];
  /** False below 2.59, where migrations have no uuids. */
  readonly knowsMigrationConsumers: boolean;
  readonly hypervisors: readonly Hypervisor[];
  readonly services: readonly ComputeService[];
  readonly providers: ReadonlyMap<string, Provider>;
  readonly consumers: ReadonlyMap<string, Consumer>;
  /** The allocations of consumers that were read one by one. */
  readonly records: ReadonlyMap<string, ConsumerRecord>;
  /** The ports of servers by uuid; null if the cloud has no Network service. */
  readonly ports: ReadonlyMap<string, Port> | null;
  /** Volumes by uuid; null if the cloud has no Block Storage service. */
  readonly volumes: ReadonlyMap<string, Volume> | null;
  /** By host; excludes hosts whose guests were not read. */
  readonly guests: ReadonlyMap<string, readonly HypervisorGuest[]>;
}

/** Called during long reads with `done` of `total`, which are 0 of 0 if unknown. */
export type OnProgress = (what: string, done: number, total: number) => void;

/** Final statuses of Nova's migrations; all others mean that the migration is in progress. */
const ENDED = new Set(["confirmed", "reverted", "error", "failed", "completed", "cancelled", "done"]);

export const hasEnded = ({ status }: Pick<Migration, "status">): boolean => ENDED.has(status);
