import type { ConsumerRow } from "./placement-rows.js";

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
