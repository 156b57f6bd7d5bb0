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
  /** Null: its cell did not answer. */
  readonly userId: string | null;
  /** Null, both: unplaced. */
  readonly host: string | null;
  readonly node: string | null;
  /** `UNKNOWN` when its cell did not answer. */
  readonly status: string;
  readonly vmState: string;
  readonly taskState: string | null;
  readonly volumeBacked: boolean;
  /** The copy that the server carries of its flavor. */
  readonly flavor: FlavorNeed;
}

export interface Migration {
  readonly id: number;
  /** Null below 2.59: its allocations look like any other consumer's. */
  readonly uuid: string | null;
  readonly server: string;
  /** `migration`, `resize`, `live-migration`, `evacuation` */
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
  /** VCPU, MEMORY_MB and DISK_GB in all, as the compute node's record has them; null where the cloud does not tell. */
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
  /** COMPUTE_NODE or OWNER_NOVA. */
  readonly isNovas: boolean;
  /** Providers that may use it through aggregates; undefined: it shares nothing. */
  readonly sharedWith?: ReadonlySet<string>;
}

/** A consumer that holds something, as its providers list it. */
export interface Consumer {
  readonly uuid: string;
  readonly generation: number | null;
  readonly held: Held;
}

/** A consumer as it tells itself. */
export interface ConsumerRecord extends Consumer {
  readonly projectId: string | null;
  readonly userId: string | null;
  /** `unknown`: never given. Null: Placement is too old to tell. */
  readonly type: string | null;
}

/** What the cloud said; nothing is judged yet. */
export interface Snapshot {
  /** When it was read, milliseconds since the epoch. */
  readonly now: number;
  readonly servers: ReadonlyMap<string, Server>;
  readonly migrations: readonly Migration[];
  /** False below 2.59, where migrations have no uuids. */
  readonly knowsMigrationConsumers: boolean;
  readonly hypervisors: readonly Hypervisor[];
  readonly services: readonly ComputeService[];
  readonly providers: ReadonlyMap<string, Provider>;
  readonly consumers: ReadonlyMap<string, Consumer>;
  /** The allocations of the consumers that were asked for one by one. */
  readonly records: ReadonlyMap<string, ConsumerRecord>;
  /** By host; without the hosts whose guests were not read. */
  readonly guests: ReadonlyMap<string, readonly HypervisorGuest[]>;
}

/** Called while something long is read: `done` of `total`; 0 of 0 when it is not known. */
export type OnProgress = (what: string, done: number, total: number) => void;

/** The first status classes of Nova's migrations: everything else is under way. */
const ENDED = new Set(["confirmed", "reverted", "error", "failed", "completed", "cancelled", "done"]);

export const hasEnded = ({ status }: Pick<Migration, "status">): boolean => ENDED.has(status);
