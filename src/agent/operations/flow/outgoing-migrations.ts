import { ConductorError, isConductorError } from "../../../conductor-client/errors.js";
import type { Migration } from "../../../records/index.js";
import { SparseMap } from "../../../runtime/collections.js";
import { PublicError } from "../../../runtime/error-messages.js";
import { TaskQueue } from "../../../runtime/task-queue.js";
import { NotImplemented } from "../../../virt/errors.js";
import type { AgentContext } from "../../context.js";
import { ignore } from "../../ignore-errors.js";

export type DestinationMethod =
  | "pre_live_migration"
  | "post_live_migration_at_destination"
  | "rollback_live_migration_at_destination";

/**
 * Timeouts in milliseconds. `long_rpc_timeout` where the destination may copy images first; otherwise above its
 * driver's timeouts of 5 and 10 minutes.
 */
export const TIMEOUTS: Readonly<Record<DestinationMethod, number>> = {
  pre_live_migration: 1_800_000,
  post_live_migration_at_destination: 330_000,
  rollback_live_migration_at_destination: 630_000,
};

/** The phase of a live migration on its source. `ending`: the driver has finished. */
export type OutgoingPhase = "queued" | "preparing" | "running" | "ending";

/** A live migration that this process runs as the source. */
export class OutgoingMigration {
  readonly instanceUuid: string;
  readonly migrationId: number;
  phase: OutgoingPhase = "queued";
  /** True if an abort was requested; checked between steps. */
  aborted = false;
  /** Resolves when the live migration is over, with or without success. */
  readonly done: Promise<void>;
  readonly #queueAbort = new AbortController();
  #end: () => void = () => {};

  constructor(instanceUuid: string, migrationId: number) {
    this.instanceUuid = instanceUuid;
    this.migrationId = migrationId;
    this.done = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Aborted when the migration leaves the queue. */
  get queueSignal(): AbortSignal {
    return this.#queueAbort.signal;
  }

  /** Removes it from the queue, or marks it to be stopped at the next step. Returns whether it was queued. */
  abort(): boolean {
    this.aborted = true;
    if (this.phase !== "queued") {
      return false;
    }
    this.#queueAbort.abort(new LiveMigrationAborted(this.migrationId));
    return true;
  }

  end(): void {
    this.#end();
  }
}

export class LiveMigrationAborted extends PublicError {
  override readonly name = "LiveMigrationAborted";

  constructor(migrationId: number) {
    super(`live migration ${migrationId} was aborted`);
  }
}

/** Milliseconds between two checks of an accepted migration that no process works on: its message may be arriving. */
const POLL_INTERVAL_MS = 4_000;

/** The live migrations that this process runs as their source. A copy holds no lock, so that a delete can stop it. */
export class OutgoingMigrations {
  readonly #context: AgentContext;
  readonly #queue: TaskQueue;
  readonly #underWay = new SparseMap<number, OutgoingMigration>();
  /** Migration id → when recovery first saw it accepted and without a process that works on it; monotonic. */
  readonly #forgottenSince = new SparseMap<number, number>();
  /** Migration id → when recovery first found its destination unreachable; monotonic. */
  readonly #silentSince = new SparseMap<number, number>();
  #closed = false;

  constructor(context: AgentContext) {
    this.#context = context;
    this.#queue = new TaskQueue(context.config.defaults.maxConcurrentLiveMigrations);
  }

  get size(): number {
    return this.#underWay.size;
  }

  /** True during a shutdown, as when Nova's worker pool is closed: nothing queues in a process that ends. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Returns the migration; undefined if this process does not work on it. */
  find(migrationId: number): OutgoingMigration | undefined {
    return this.#underWay.get(migrationId);
  }

  /** Returns whether this process works on a live migration of the instance. */
  has(instanceUuid: string): boolean {
    return this.#of(instanceUuid) !== undefined;
  }

  /** @throws {InvalidMigrationState} this process works on it already */
  async working(
    instanceUuid: string,
    migrationId: number,
    work: (entry: OutgoingMigration) => Promise<void>,
  ): Promise<void> {
    if (this.#underWay.has(migrationId)) {
      throw new ConductorError(
        "InvalidMigrationState",
        `live migration ${migrationId} is under way on this host already`,
      );
    }
    const entry = new OutgoingMigration(instanceUuid, migrationId);
    this.#underWay.set(migrationId, entry);
    try {
      await work(entry);
    } finally {
      this.#underWay.delete(migrationId);
      entry.end();
    }
  }

  /** Runs at most `max_concurrent_live_migrations` at a time. @throws the reason of an abort in the queue */
  async runQueued(entry: OutgoingMigration, work: () => Promise<void>): Promise<void> {
    await this.#queue.run(work, entry.queueSignal);
  }

  /** Saves that the guest runs on the destination while its memory is still being copied (spec 8.5). */
  async postCopyStarted(instanceUuid: string): Promise<void> {
    const entry = this.#of(instanceUuid);
    if (entry?.phase !== "running") {
      return;
    }
    const write = {
      id: entry.migrationId,
      changes: { status: "running (post-copy)" },
      expectedStatus: ["running"],
    } as const;
    // Ignored if it was reported twice, or too late.
    await this.#context.conductor.call("migration_save", write).catch(ignore("InvalidMigrationState"));
  }

  /** Aborts the running live migration of an instance that is being deleted, and waits for its end. */
  async settle(instanceUuid: string): Promise<void> {
    const entry = this.#of(instanceUuid);
    if (!entry) {
      return;
    }
    if (entry.phase === "running") {
      await this.#abortCopy(instanceUuid);
    }
    entry.abort();
    await entry.done;
  }

  async #abortCopy(uuid: string): Promise<void> {
    const { conductor, driver, logger } = this.#context;
    try {
      const instance = await conductor.call("instance_get", { uuid });
      if (!instance) {
        throw new ConductorError("InstanceNotFound", `instance ${uuid} is not known, or deleted`);
      }
      await driver.liveMigrationAbort(instance);
    } catch (err) {
      const level = err instanceof NotImplemented || isConductorError(err, "InstanceNotFound") ? "info" : "warn";
      logger[level]("could not abort the live migration of a deleted instance; it runs to its end", {
        instance: uuid,
        err,
      });
    }
  }

  /** Cancels queued migrations and queues no new ones, for a shutdown (spec 2.8). */
  async cancelQueued(): Promise<void> {
    this.#closed = true;
    const waiting = [...this.#underWay.values()].filter(({ phase }) => phase === "queued");
    for (const entry of waiting) {
      entry.abort();
    }
    await Promise.all(waiting.map(({ done }) => done));
  }

  /**
   * Returns the unfinished migrations that no process works on. An accepted one may still be handed over by the
   * conductor, or its message may be queued for this host. Otherwise a process took the message, and died before it
   * wrote anything.
   */
  async leftOf(unfinished: readonly Migration[]): Promise<readonly Migration[]> {
    const ids = new Set(unfinished.map(({ id }) => id));
    for (const since of [this.#forgottenSince, this.#silentSince]) {
      for (const id of since.keys()) {
        if (!ids.has(id)) {
          since.delete(id);
        }
      }
    }
    const left: Migration[] = [];
    for (const migration of unfinished) {
      if (migration.status !== "accepted" || (await this.#isForgotten(migration))) {
        left.push(migration);
      }
    }
    return left.filter(({ id }) => !this.#underWay.has(id));
  }

  async #isForgotten({ id, instanceUuid: uuid }: Migration): Promise<boolean> {
    const { conductor, host, runtime } = this.#context;
    if (this.#underWay.has(id) || (await conductor.call("instance_in_hand", { uuid, host }))) {
      this.#forgottenSince.delete(id);
      return false;
    }
    const now = runtime.clock.monotonic();
    const since = this.#forgottenSince.get(id) ?? now;
    this.#forgottenSince.set(id, since);
    return now - since >= POLL_INTERVAL_MS;
  }

  /** Records whether the destination of an interrupted migration responded to recovery. */
  noteDestination(migrationId: number, { silent }: { readonly silent: boolean }): void {
    if (!silent) {
      this.#silentSince.delete(migrationId);
    } else if (!this.#silentSince.has(migrationId)) {
      this.#silentSince.set(migrationId, this.#context.runtime.clock.monotonic());
    }
  }

  /** True if recovery waits for a destination that became unreachable recently, or for its second check. */
  get recoversSoon(): boolean {
    const now = this.#context.runtime.clock.monotonic();
    return (
      this.#forgottenSince.size > 0 ||
      [...this.#silentSince.values()].some((since) => now - since < TIMEOUTS.post_live_migration_at_destination)
    );
  }

  #of(instanceUuid: string): OutgoingMigration | undefined {
    return [...this.#underWay.values()].find((entry) => entry.instanceUuid === instanceUuid);
  }
}
