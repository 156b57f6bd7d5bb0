import { InstanceNotFound, InvalidMigrationState } from "../../../conductor/errors.js";
import type { AgentMethods, LiveMigrateData } from "../../../conductor/methods/agent.js";
import type { ParamsOf } from "../../../conductor/methods/method.js";
import type { Migration } from "../../../records/index.js";
import type { KeyedLock } from "../../../runtime/keyed-lock.js";
import { TaskQueue } from "../../../runtime/queue.js";
import { NotImplemented } from "../../../virt/errors.js";
import { hasQuirk, requestId as newRequestId } from "../../context.js";
import { admit, demand } from "../admission/admission.js";
import { recordingFault, withActionEvent } from "../flow/error-wrappers.js";
import { runSteps, type StepList } from "../flow/step-list.js";
import type { OperationParts } from "../parts.js";
import { cleanUpChecks, DESTINATION_CHECK_STEPS, type DestinationCheck, preCheck } from "./checks.js";
import type { Asker, LiveMigrationOperations } from "./contract.js";
import { ABORT_STEPS, type Control, FORCE_COMPLETE_STEPS, findInstance } from "./control.js";
import { POST_AT_DESTINATION_STEPS, PRE_STEPS, ROLLBACK_AT_DESTINATION_STEPS, receive } from "./destination.js";
import { driverData, type Flow } from "./flow.js";
import { endOrAbandon, giveBackRefused, migrate } from "./migrate.js";
import { OutgoingMigration } from "./outgoing-migration.js";
import { recoverMigration, unfinishedMigrations } from "./recover.js";
import { ROLLBACK_STEPS } from "./roll-back.js";

type Request<M extends keyof AgentMethods> = ParamsOf<AgentMethods, M>;

/** Milliseconds for which a migration may stay accepted while this process serves: the conductor may be at it still. */
const ACCEPTED_TOO_LONG = 600_000;

/**
 * Spec 6.5, both sides of one host. A copy holds no lock: a delete does not wait for it, but stops it. What the destination
 * does holds the instance's, as does the source's clean-up: a roll-back waits for the preparation that its source has given
 * up, and no other operation comes between the look at the records and what is done after it.
 */
export class LiveMigrations implements LiveMigrationOperations {
  readonly #parts: OperationParts;
  readonly #queue: TaskQueue;
  readonly #outgoing = new Map<number, OutgoingMigration>();
  /** The instances' locks of this host. */
  readonly #locks: KeyedLock<string>;
  /** When recovery first saw a migration as accepted, by its id; monotonic. */
  readonly #acceptedSince = new Map<number, number>();
  #closed = false;

  constructor(parts: OperationParts, locks: KeyedLock<string>) {
    this.#parts = parts;
    this.#locks = locks;
    this.#queue = new TaskQueue(parts.context.config.defaults.maxConcurrentLiveMigrations);
  }

  async checkDestination(request: Request<"check_can_live_migrate_destination">): Promise<LiveMigrateData> {
    const { instanceUuid, blockMigration, diskOverCommit, requestId } = request;
    const parts = this.#for(requestId);
    const event = { instanceUuid, requestId, event: "compute_check_can_live_migrate_destination" };
    return withActionEvent(parts.context, event, () =>
      preCheck(parts, async () => {
        const { instance } = await demand(parts.context, "check_can_live_migrate_destination", request);
        const check: DestinationCheck = {
          parts,
          instance,
          blockMigration,
          diskOverCommit,
          requestId,
          made: null,
          data: {},
        };
        try {
          await runSteps(parts, DESTINATION_CHECK_STEPS, check);
          return check.data;
        } finally {
          await cleanUpChecks(check);
        }
      }),
    );
  }

  async checkSource(request: Request<"check_can_live_migrate_source">) {
    const { instanceUuid, data, requestId } = request;
    const parts = this.#for(requestId);
    const event = { instanceUuid, requestId, event: "compute_check_can_live_migrate_source" };
    return withActionEvent(parts.context, event, () =>
      preCheck(parts, async () => {
        const { instance } = await demand(parts.context, "check_can_live_migrate_source", request);
        return parts.context.driver.checkCanLiveMigrateSource(instance, driverData(data));
      }),
    );
  }

  async preLiveMigration(request: Request<"pre_live_migration">, asker: Asker): Promise<LiveMigrateData> {
    const { instanceUuid, migrationId, requestId } = request;
    const parts = this.#for(requestId);
    const event = { instanceUuid, requestId, event: "compute_pre_live_migration" };
    return this.#locks.run(instanceUuid, () =>
      withActionEvent(parts.context, event, async () => {
        asker.refuseGivenUp();
        this.#parts.incoming.begin(migrationId);
        try {
          const incoming = await receive(parts, "pre_live_migration", request);
          await runSteps(parts, PRE_STEPS, incoming);
          return incoming.data;
        } catch (error) {
          this.#parts.incoming.end(migrationId);
          throw error;
        }
      }),
    );
  }

  async postAtDestination(request: Request<"post_live_migration_at_destination">, asker: Asker): Promise<void> {
    const { instanceUuid, migrationId, requestId } = request;
    const parts = this.#for(requestId);
    const event = { instanceUuid, requestId, event: "compute_post_live_migration_at_destination" };
    await this.#locks.run(instanceUuid, () =>
      withActionEvent(parts.context, event, async () => {
        asker.refuseGivenUp();
        const incoming = await receive(parts, "post_live_migration_at_destination", request);
        await runSteps(parts, POST_AT_DESTINATION_STEPS, incoming);
      }).finally(() => this.#parts.incoming.end(migrationId)),
    );
  }

  async rollBackAtDestination(request: Request<"rollback_live_migration_at_destination">, asker: Asker): Promise<void> {
    const { instanceUuid, migrationId, requestId } = request;
    const parts = this.#for(requestId);
    const event = { instanceUuid, requestId, event: "compute_rollback_live_migration_at_destination" };
    await this.#locks.run(instanceUuid, () =>
      withActionEvent(parts.context, event, async () => {
        asker.refuseGivenUp();
        const found = await receive(parts, "rollback_live_migration_at_destination", request);
        await runSteps(parts, ROLLBACK_AT_DESTINATION_STEPS, found);
      }).finally(() => this.#parts.incoming.end(migrationId)),
    );
  }

  get underWay(): boolean {
    return this.#outgoing.size > 0;
  }

  async liveMigration(request: Request<"live_migration">): Promise<void> {
    const { instanceUuid, migrationId, requestId } = request;
    const parts = this.#for(requestId);
    await this.#working(instanceUuid, migrationId, (entry) =>
      withActionEvent(parts.context, { instanceUuid, requestId, event: "compute_live_migration" }, () =>
        recordingFault(parts.context, instanceUuid, async () => {
          const flow = await this.#accept(parts, request, entry);
          await this.#inTurn(flow);
        }),
      ),
    );
  }

  abort(request: Request<"live_migration_abort">): Promise<void> {
    return this.#control("live_migration_abort", request, ABORT_STEPS);
  }

  forceComplete(request: Request<"live_migration_force_complete">): Promise<void> {
    return this.#control("live_migration_force_complete", request, FORCE_COMPLETE_STEPS);
  }

  async #control(
    method: "live_migration_abort" | "live_migration_force_complete",
    { instanceUuid, migrationId, requestId }: Request<"live_migration_abort" | "live_migration_force_complete">,
    steps: StepList<Control>,
  ): Promise<void> {
    const parts = this.#for(requestId);
    await withActionEvent(parts.context, { instanceUuid, requestId, event: `compute_${method}` }, () =>
      recordingFault(parts.context, instanceUuid, async () => {
        await demand(parts.context, method, { instanceUuid, migrationId, requestId });
        const entry = this.#outgoing.get(migrationId);
        await runSteps(parts, steps, { parts, instanceUuid, migrationId, entry });
      }),
    );
  }

  async postCopyStarted(instanceUuid: string): Promise<void> {
    const entry = this.#of(instanceUuid);
    if (entry?.phase !== "running") {
      return;
    }
    try {
      await this.#parts.context.conductor.call("migration_save", {
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

  async settle(instanceUuid: string): Promise<boolean> {
    const entry = this.#of(instanceUuid);
    if (!entry) {
      return false;
    }
    const { driver, runtime } = this.#parts.context;
    if (entry.phase === "running") {
      try {
        await driver.liveMigrationAbort(await findInstance(this.#parts, instanceUuid));
      } catch (err) {
        const level = err instanceof NotImplemented || err instanceof InstanceNotFound ? "info" : "warn";
        runtime.logger[level]("the live migration of an instance that is deleted goes on to its end", {
          instance: instanceUuid,
          err,
        });
      }
    }
    entry.abort();
    await entry.done;
    return true;
  }

  async cancelQueued(): Promise<void> {
    this.#closed = true;
    const waiting = [...this.#outgoing.values()].filter(({ phase }) => phase === "queued");
    for (const entry of waiting) {
      entry.abort();
    }
    await Promise.all(waiting.map(({ done }) => done));
  }

  async recover(): Promise<void> {
    if (hasQuirk(this.#parts.context, "leave-interrupted-live-migration-allocations")) {
      return;
    }
    const unfinished = await unfinishedMigrations(this.#parts);
    const ids = new Set(unfinished.map(({ id }) => id));
    for (const id of this.#acceptedSince.keys()) {
      if (!ids.has(id)) {
        this.#acceptedSince.delete(id);
      }
    }
    const left = unfinished.filter((migration) => !this.#outgoing.has(migration.id) && this.#isLeft(migration));
    await Promise.all(left.map((migration) => this.#recover(migration)));
  }

  async #recover(migration: Migration): Promise<void> {
    const requestId = newRequestId(this.#parts.context);
    const parts = this.#for(requestId);
    try {
      await this.#working(migration.instanceUuid, migration.id, (entry) =>
        recoverMigration(parts, { entry, migration, requestId, locks: this.#locks }),
      );
    } catch (err) {
      parts.context.runtime.logger.warn("a live migration that was left halfway is tried again later", {
        instance: migration.instanceUuid,
        migration: migration.id,
        err,
      });
    }
  }

  /** The conductor may be about to hand over one that is accepted, unless it stays so. */
  #isLeft({ id, status }: Migration): boolean {
    if (status !== "accepted") {
      return true;
    }
    const now = this.#parts.context.runtime.clock.monotonic();
    const since = this.#acceptedSince.get(id) ?? now;
    this.#acceptedSince.set(id, since);
    return now - since >= ACCEPTED_TOO_LONG;
  }

  /** Row 5. @throws UnexpectedTaskState, InvalidMigrationState: it is no longer waited for. */
  async #accept(parts: OperationParts, request: Request<"live_migration">, entry: OutgoingMigration): Promise<Flow> {
    const { migrationId, dest, data, requestId } = request;
    const verdict = await admit(parts.context, "live_migration", request);
    if ("refused" in verdict) {
      await giveBackRefused(parts, request, verdict.refused);
      throw verdict.refused.error;
    }
    const { instance } = verdict.admitted;
    const migration = await parts.context.conductor.call("migration_save", {
      id: migrationId,
      changes: { status: "queued" },
      expectedStatus: ["accepted"],
    });
    return {
      parts,
      requestId,
      entry,
      dest,
      instance,
      migration,
      data: {
        ...driverData(data),
        ...(request.blockMigration === null ? {} : { blockMigration: request.blockMigration }),
      },
      prepared: false,
      copying: false,
      outcome: null,
      end: { status: "error" },
      patient: false,
      exclusively: (work) => this.#locks.run(instance.uuid, work),
      arrived: false,
      error: undefined,
    };
  }

  async #inTurn(flow: Flow): Promise<void> {
    const { entry, parts } = flow;
    const cancel = async (status: Flow["end"]["status"]) => {
      flow.end = { status };
      await endOrAbandon(flow, async () => {
        await runSteps(parts, ROLLBACK_STEPS, flow);
      });
    };
    // Nova's pool of workers is closed: nothing waits for a process that ends.
    if (this.#closed) {
      return cancel("error");
    }
    try {
      await this.#queue.run(async () => {
        entry.phase = "preparing";
        await migrate(flow);
      }, entry.turn);
    } catch (error) {
      if (!entry.turn.aborted || entry.phase !== "queued") {
        throw error;
      }
      await cancel("cancelled");
    }
  }

  async #working(
    instanceUuid: string,
    migrationId: number,
    work: (entry: OutgoingMigration) => Promise<void>,
  ): Promise<void> {
    if (this.#outgoing.has(migrationId)) {
      throw new InvalidMigrationState(`live migration ${migrationId} is under way on this host already`);
    }
    const entry = new OutgoingMigration(instanceUuid, migrationId);
    this.#outgoing.set(migrationId, entry);
    try {
      await work(entry);
    } finally {
      this.#outgoing.delete(migrationId);
      entry.end();
    }
  }

  #of(instanceUuid: string): OutgoingMigration | undefined {
    return [...this.#outgoing.values()].find((entry) => entry.instanceUuid === instanceUuid);
  }

  /** Everything that is logged carries the request id. */
  #for(requestId: string): OperationParts {
    const { context } = this.#parts;
    const logger = context.runtime.logger.child({ request_id: requestId });
    return { ...this.#parts, context: { ...context, runtime: { ...context.runtime, logger } } };
  }
}
