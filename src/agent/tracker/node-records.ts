import { FINAL_MIGRATION_STATUSES, type Instance, MIGRATION_STATUSES, type Migration } from "../../records/index.js";
import type { TrackerState } from "./tracker-state.js";

export interface NodeRecords {
  /** Not deleted, on this host and node. */
  readonly instances: readonly Instance[];
  /** From or to this host and node, in progress or in error. */
  readonly migrations: readonly Migration[];
}

/** Reads instances and migrations of nodes during one pass (spec 4.4 step 4). */
export interface RecordReader {
  read(node: string): Promise<NodeRecords>;
}

/** One question a node; right for an agent of one node. */
export class SingleReader implements RecordReader {
  readonly #tracker: TrackerState;

  constructor(tracker: TrackerState) {
    this.#tracker = tracker;
  }

  async read(node: string): Promise<NodeRecords> {
    const { conductor, host } = this.#tracker.context;
    const [instances, migrations] = await Promise.all([
      conductor.call("instances_by_host_and_node", { host, node }),
      conductor.call("migrations_in_progress", { host, node, includeError: true }),
    ]);
    return { instances, migrations };
  }
}

/** Asks once for the whole host, and again only if a claim or the like changed who is where since. */
export class BatchReader implements RecordReader {
  readonly #tracker: TrackerState;
  #epoch = -1;
  #loading: Promise<void> | null = null;
  #instances = new Map<string, Instance[]>();
  #migrations = new Map<string, Set<Migration>>();

  constructor(tracker: TrackerState) {
    this.#tracker = tracker;
  }

  async read(node: string): Promise<NodeRecords> {
    if (this.#epoch !== this.#tracker.binding.epoch) {
      this.#loading ??= this.#load().finally(() => {
        this.#loading = null;
      });
      await this.#loading;
    }
    return { instances: this.#instances.get(node) ?? [], migrations: [...(this.#migrations.get(node) ?? [])] };
  }

  async #load(): Promise<void> {
    const { conductor, host } = this.#tracker.context;
    const [instances, migrations] = await Promise.all([
      conductor.call("instances_by_host", { host }),
      conductor.call("migrations_by_filters", { filters: { host, statuses: IN_PROGRESS_OR_ERROR } }),
    ]);
    this.#instances = new Map();
    this.#migrations = new Map();
    for (const instance of instances) {
      const name = instance.node ?? "";
      const known = this.#instances.get(name);
      if (known) {
        known.push(instance);
      } else {
        this.#instances.set(name, [instance]);
      }
    }
    for (const migration of migrations) {
      if (migration.sourceCompute === host) {
        this.#add(migration.sourceNode, migration);
      }
      if (migration.destCompute === host) {
        this.#add(migration.destNode, migration);
      }
    }
    this.#epoch = this.#tracker.binding.epoch;
  }

  #add(node: string | null, migration: Migration): void {
    if (node === null) {
      return;
    }
    const known = this.#migrations.get(node);
    if (known) {
      known.add(migration);
    } else {
      this.#migrations.set(node, new Set([migration]));
    }
  }
}

const IN_PROGRESS_OR_ERROR = MIGRATION_STATUSES.filter(
  (status) => status === "error" || !FINAL_MIGRATION_STATUSES.includes(status),
);
