export interface ProviderRow {
  readonly uuid: string;
  readonly name: string;
  readonly generation: number;
  readonly parent: string | null;
  readonly root: string;
  /** Host of the compute node that its root is; null: there is none. */
  readonly host: string | null;
  /** By resource class. */
  readonly inventory: Readonly<Record<string, InventoryRow>>;
  /** Key of a row of `traits`. */
  readonly traits: string;
  readonly aggregates: readonly string[];
}

export interface InventoryRow {
  readonly total: number;
  readonly reserved: number;
  readonly ratio: number;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  /** What is used, by the type of the consumer. */
  readonly used: Readonly<Record<ConsumerType, number>>;
}

/** `stale`: neither a server that is there nor a move that is under way. */
export type ConsumerType = "server" | "migration" | "stale";

export interface ConsumerRow {
  readonly uuid: string;
  readonly type: ConsumerType;
  /** The server that it is, or whose move it is; null: not known. */
  readonly server: string | null;
  /** What Placement calls it: `INSTANCE`, `MIGRATION` … */
  readonly placementType: string | null;
  readonly generation: number;
  readonly projectId: string;
  readonly userId: string;
  /** Provider → resource class → amount. */
  readonly held: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export interface ServerRow {
  readonly uuid: string;
  readonly name: string;
  /** As the Compute API has it: `ACTIVE`, `VERIFY_RESIZE` … */
  readonly status: string;
  readonly vmState: string;
  readonly taskState: string | null;
  /** `running`, `shutdown` …, as it was last recorded. */
  readonly power: string;
  readonly host: string | null;
  readonly node: string | null;
  readonly flavor: string;
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly diskGb: number;
  readonly projectId: string;
  readonly createdAt: number;
  readonly updatedAt: number | null;
  /** The message of its latest fault, when it is in error. */
  readonly fault: string | null;
  /** The request that set the task state. */
  readonly requestId: string | null;
}

export interface MigrationRow {
  readonly uuid: string;
  readonly id: number;
  readonly server: string;
  readonly type: "migration" | "resize" | "live-migration" | "evacuation";
  readonly status: string;
  readonly source: string | null;
  readonly dest: string | null;
  readonly oldFlavor: string | null;
  readonly newFlavor: string | null;
  /** Percent of the memory that a live migration has moved; null: not told. */
  readonly progress: number | null;
  readonly createdAt: number;
  readonly updatedAt: number | null;
}

export interface LatestAction {
  readonly action: string;
  readonly requestId: string;
  readonly startedAt: number;
  readonly message: string | null;
  /** Its latest event. */
  readonly event: EventRow | null;
}

export interface EventRow {
  /** `compute__do_build_and_run_instance` … */
  readonly event: string;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  readonly result: "Success" | "Error" | null;
  readonly host: string | null;
  readonly details: string | null;
}

/** The life of a server, oldest first everywhere. A server that is deleted has one, too. */
export interface ServerLife {
  readonly server: ServerRow;
  readonly deletedAt: number | null;
  readonly actions: readonly ActionRow[];
  /** All of them, those that have ended included. */
  readonly migrations: readonly MigrationRow[];
  readonly faults: readonly { readonly at: number; readonly message: string; readonly host: string | null }[];
  /** Which host had it, from when to when; null: it still has, or that is not known. From its moves' records. */
  readonly hosts: readonly { readonly host: string; readonly from: number; readonly to: number | null }[];
  /** What it and its moves hold now. */
  readonly consumers: readonly ConsumerRow[];
  /** What each of these held from then on, as far as somebody looked at the window while it changed; held {}: nothing. */
  readonly history: readonly { readonly at: number; readonly consumer: ConsumerRow }[];
  /** States that it had, as far as somebody looked. */
  readonly states: readonly StateRow[];
}

export interface StateRow {
  readonly at: number;
  readonly vmState: string;
  readonly taskState: string | null;
  readonly host: string | null;
  readonly requestId: string | null;
}

export interface ActionRow {
  readonly action: string;
  readonly requestId: string;
  readonly startedAt: number;
  readonly finishedAt: number | null;
  /** `Error` if one of its events failed. */
  readonly message: string | null;
  readonly events: readonly EventRow[];
}

export interface HostRow {
  readonly host: string;
  readonly state: "up" | "down";
  /** It has a compute service; without one it has never served: its agent was refused, has failed, or starts for the first time. */
  readonly registered: boolean;
  readonly enabled: boolean;
  /** Why it is disabled, or how its agent ended; "": nothing to say. */
  readonly reason: string;
  readonly forcedDown: boolean;
  /**
   * State of its agent's process, as `compute-cluster host list` has it, and `refused`: it would not start, as records contradict
   * each other. Null: no process that is known here controls it.
   */
  readonly agent:
    | "starting"
    | "serving"
    | "stopping"
    | "stopped"
    | "failed"
    | "refused"
    | "killed"
    | "waiting"
    | "restarting"
    | null;
  readonly zone: string;
  readonly aggregates: readonly string[];
  /** The uuids of its compute nodes, which are their root providers'; at most 100 of them. */
  readonly nodes: readonly string[];
  /** Fault knobs that are set: `driver.spawn=fail:once`. */
  readonly faults: readonly string[];
  /** Level of the service, 0 without one, and the release's name. */
  readonly version: number;
  readonly release: string | null;
}

export interface GuestsRow {
  /** When that was so. */
  readonly at: number;
  /** `folder`: read from a fake-libvirt hypervisor's folder, whether its agent lives or not; `agent`: its agent said so. */
  readonly from: "folder" | "agent";
  readonly guests: readonly GuestRow[];
}

export interface GuestRow {
  readonly uuid: string;
  readonly name: string;
  /** `running`, `shut off`, `paused` … */
  readonly state: string;
}

export interface RequestRow {
  readonly id: string;
  readonly at: number;
  /** `compute-api`, `placement` …; `other`: no service took it. */
  readonly service: string;
  readonly method: string;
  /** With the query; secrets are hidden. */
  readonly path: string;
  readonly status: number;
  readonly ms: number | null;
  readonly requestId: string | null;
  /** The request that it was made for. */
  readonly globalRequestId: string | null;
  readonly user: string | null;
  readonly project: string | null;
  readonly hasBody: boolean;
  /** Ids in what was asked and answered, the first of them: of servers, providers, and what else has a uuid. */
  readonly about: readonly string[];
}

/** The bodies of a request, with secrets hidden. */
export interface RequestBodies extends RequestRow {
  /** JSON, indented; null: there was none, or it is none, or too long. */
  readonly body: string | null;
  readonly answer: string | null;
}

export interface FindingRow {
  /** `stale-guest`, `guest-without-server`, `server-without-guest`, `stale-allocation`, `missing-allocation` or `doubled-allocation`. */
  readonly code: string;
  readonly text: string;
  /** Where it is shown; null: it is not about one. */
  readonly host: string | null;
  readonly server: string | null;
  readonly consumer: string | null;
  readonly provider: string | null;
}

/** An edit of the plan that the action `audit` has written; `apply` and `undo` do it alone, or take it back. */
export interface EditRow {
  /** Codes of what `compute-cluster audit` has found, which it removes. */
  readonly findings: readonly string[];
  readonly reason: string;
  /** What it does, in a line. */
  readonly does: string;
  /** The consumer or provider that it changes, by which it can be chosen. */
  readonly subject: string;
}
