import { InstanceNotFound, InvalidMigrationState } from "../../../conductor-client/errors.js";
import type { Migration } from "../../../records/index.js";
import { SparseMap } from "../../../runtime/collections.js";
import { PublicError } from "../../../runtime/error-messages.js";
import { TaskQueue } from "../../../runtime/task-queue.js";
import { NotImplemented } from "../../../virt/errors.js";
import type { AgentContext } from "../../context.js";

export type DestinationMethod =
  | "pre_live_migration"
  | "post_live_migration_at_destination"
  | "rollback_live_migration_at_destination";

/** Milliseconds. `long_rpc_timeout` where the other host may copy images first; its driver has 5 and 10 minutes else. */
export const TIMEOUTS: Readonly<Record<DestinationMethod, number>> = {
  pre_live_migration: 1_800_000,
  post_live_migration_at_destination: 330_000,
  rollback_live_migration_at_destination: 630_000,
};

/** Where a live migration is on its source. `ending`: the driver is through with it. */
export type OutgoingPhase = "queued" | "preparing" | "running" | "ending";

/** A live migration that this process works on as the source. */
export class OutgoingMigration {
  readonly instanceUuid: string;
  readonly migrationId: number;
  phase: OutgoingPhase = "queued";
  /** Somebody wants it to stop; looked at between steps. */
  aborted = false;
  /** Resolves when all is over, however it ended. */
  readonly done: Promise<void>;
  readonly #turn = new AbortController();
  #end: () => void = () => {};

  constructor(instanceUuid: string, migrationId: number) {
    this.instanceUuid = instanceUuid;
    this.migrationId = migrationId;
    this.done = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** Aborted when it gives up its place in the queue. */
  get turn(): AbortSignal {
    return this.#turn.signal;
  }

  /** Takes it out of the queue, or marks it to be stopped at the next step. True: it was waiting. */
  abort(): boolean {
    this.aborted = true;
    if (this.phase !== "queued") {
      return false;
    }
    this.#turn.abort(new LiveMigrationAborted(this.migrationId));
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

/** Milliseconds between the looks at a migration that is accepted, and that nobody has in hand: its message may just have come. */
const POLL_INTERVAL_MS = 4_000;

/** The live migrations that this process works on as their source. A copy holds no lock: a delete does not wait for it, but stops it. */
export class OutgoingMigrations {
  readonly #context: AgentContext;
  readonly #queue: TaskQueue;
  readonly #underWay = new SparseMap<number, OutgoingMigration>();
  /** When recovery first saw an accepted migration in nobody's hand, by its id; monotonic. */
  readonly #forgottenSince = new SparseMap<number, number>();
  /** When recovery first met a destination that was away, by the migration's id; monotonic. */
  readonly #silentSince = new SparseMap<number, number>();
  #closed = false;

  constructor(context: AgentContext) {
    this.#context = context;
    this.#queue = new TaskQueue(context.config.defaults.maxConcurrentLiveMigrations);
  }

  /** How many. */
  get size(): number {
    return this.#underWay.size;
  }

  /** Nova's pool of workers is closed: nothing waits for a process that ends. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Undefined: this process does not work on it. */
  find(migrationId: number): OutgoingMigration | undefined {
    return this.#underWay.get(migrationId);
  }

  /** Whether this process works on a live migration of the instance. */
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
      throw new InvalidMigrationState(`live migration ${migrationId} is under way on this host already`);
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

  /** At most `max_concurrent_live_migrations` at a time. @throws the reason of one that is aborted while it waits */
  async inTurn(entry: OutgoingMigration, work: () => Promise<void>): Promise<void> {
    await this.#queue.run(work, entry.turn);
  }

  /** The driver says that the guest runs on the destination while its memory still comes (spec 8.5). */
  async postCopyStarted(instanceUuid: string): Promise<void> {
    const entry = this.#of(instanceUuid);
    if (entry?.phase !== "running") {
      return;
    }
    try {
      await this.#context.conductor.call("migration_save", {
        id: entry.migrationId,
        changes: { status: "running (post-copy)" },
        expectedStatus: ["running"],
      });
    } catch (error) {
      // Told twice, or too late.
      if (!(error instanceof InvalidMigrationState)) {
        throw error;
      }
    }
  }

  /** Aborts what is under way for an instance that is being deleted, and waits for its end. */
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
    const { conductor, driver, runtime } = this.#context;
    try {
      const instance = await conductor.call("instance_get", { uuid });
      if (!instance) {
        throw new InstanceNotFound(`instance ${uuid} is not known, or deleted`);
      }
      await driver.moves.liveMigrationAbort(instance);
    } catch (err) {
      const level = err instanceof NotImplemented || err instanceof InstanceNotFound ? "info" : "warn";
      runtime.logger[level]("the live migration of an instance that is deleted goes on to its end", {
        instance: uuid,
        err,
      });
    }
  }

  /** Shutdown: those that wait for their turn are cancelled, and no new one waits (spec 2.8). */
  async cancelQueued(): Promise<void> {
    this.#closed = true;
    const waiting = [...this.#underWay.values()].filter(({ phase }) => phase === "queued");
    for (const entry of waiting) {
      entry.abort();
    }
    await Promise.all(waiting.map(({ done }) => done));
  }

  /**
   * Picks the unfinished migrations on which nobody works. The conductor may still hand over one that is accepted, or its
   * message may wait for this host; otherwise a process took the message, and died before it wrote anything.
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

  /** What recovery met when it asked the destination of one that was left halfway. */
  noteDestination(migrationId: number, { silent }: { readonly silent: boolean }): void {
    if (!silent) {
      this.#silentSince.delete(migrationId);
    } else if (!this.#silentSince.has(migrationId)) {
      this.#silentSince.set(migrationId, this.#context.runtime.clock.monotonic());
    }
  }

  /** Recovery waits for a destination that has not been away for long, or for its second look. */
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
