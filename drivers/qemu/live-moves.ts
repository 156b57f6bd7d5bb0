import {
  type DestroyOptions,
  type Instance,
  InstanceExists,
  InstanceNotRunning,
  type LiveMigrateData,
  type LiveMigrationOptions,
  type PreLiveMigrationOptions,
} from "../../src/virt/index.js";
import { guestName, newDefinition } from "./definition.js";
import type { Guests, HypervisorParts } from "./guests.js";
import { destinationIn, Handover, INCOMING } from "./handover.js";
import { type DiskJob, type MigrationStatus, migrated, migrationStatus } from "./jobs.js";
import type { MovedDisk } from "./live-checks.js";
import { isEnd } from "./monitor.js";
import { QemuError } from "./qemu-error.js";

/** API requests for a migration in progress, and its state. */
interface Job {
  cancelled: boolean;
  forced: boolean;
  /** The guest is stopped on the source and may start on the destination at any moment. */
  committed: boolean;
}

/** The migration was aborted. */
class Cancelled extends Error {
  override readonly name = "Cancelled";
}

const NO_DISKS = { diskTotal: 0, diskProcessed: 0, diskRemaining: 0 } as const;
const NO_MEMORY = { memoryTotal: 0, memoryProcessed: 0, memoryRemaining: 0 } as const;
/** Milliseconds of downtime allowed for a guest whose migration is forced: the remainder is copied meanwhile. */
const FORCED_DOWNTIME = 600_000;
/** States of a destination's QEMU between the first arrival of the guest's memory and the guest's start. */
const RECEIVING: ReadonlySet<string> = new Set(["active", "device", "postcopy-active", "completed"]);
/** Milliseconds between two polls of an arriving guest. */
const LOOK = 20;

/** Live migration (spec 8.3) except its checks, between two QEMUs of one machine. */
export class LiveMoves {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;
  readonly #jobs = new Map<string, Job>();

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  /**
   * Runs on the destination. Creates empty disks unless they are shared, and starts a QEMU that waits for the guest.
   */
  async prepare(instance: Instance, { data, signal }: PreLiveMigrationOptions): Promise<LiveMigrateData> {
    const { definitions, disks, runs, layout, lease, config } = this.#parts;
    const { uuid } = instance;
    if (!["arriving", undefined].includes(await this.#guests.find(uuid))) {
      throw new InstanceExists(`guest ${guestName(instance)} (${uuid}) is on hypervisor ${layout.root} already`);
    }
    const moved = disksIn(data);
    if (!data.sharedInstanceFiles) {
      await runs.end(uuid, signal);
      await disks.forget(uuid);
      await disks.make(uuid, moved, undefined, signal);
    } else if (moved.some(({ name }) => name === "disk") && !(await disks.hasRoot(uuid))) {
      throw new QemuError(
        "DiskNotFound",
        `the disk of guest ${uuid} is not in ${layout.instance(uuid)}, though both hosts share it`,
      );
    }
    const { machine = config.machine, cpu = config.cpu } = data as { readonly machine?: string; readonly cpu?: string };
    const definition = { ...newDefinition(instance, { machine, cpu }), incoming: true };
    await lease.assertCurrentEpoch();
    await definitions.put(definition);
    const { pid, started } = await runs.start(definition, signal, `unix:${INCOMING}`);
    return { ...data, destination: { qemu: { pid, started }, folder: layout.root, instances: layout.instances } };
  }

  /** Runs on the source. */
  async migrate(instance: Instance, options: LiveMigrationOptions): Promise<void> {
    const { uuid } = instance;
    if (this.#jobs.has(uuid)) {
      throw new InstanceExists(`a live migration of guest ${uuid} is already in progress`);
    }
    const job: Job = { cancelled: false, forced: false, committed: false };
    this.#jobs.set(uuid, job);
    const ended = await this.#move(instance, job, options).finally(() => this.#jobs.delete(uuid));
    if (ended === "moved") {
      await options.postMethod();
    } else {
      await options.recoverMethod({ status: ended });
    }
  }

  /** Runs on the source. @throws {InstanceNotRunning} no live migration of the guest is in progress. */
  forceComplete(instance: Instance): void {
    const job = this.#jobs.get(instance.uuid);
    if (!job) {
      throw new InstanceNotRunning(`no live migration of guest ${guestName(instance)} (${instance.uuid}) is running`);
    }
    job.forced = true;
  }

  /**
   * Runs on the source. Also undoes a migration that an earlier process left. @throws {InstanceNotRunning} it is too
   * late.
   */
  async abort(instance: Instance): Promise<void> {
    const { uuid } = instance;
    const tooLate = (why: string) =>
      new InstanceNotRunning(`the live migration of guest ${guestName(instance)} (${uuid}) cannot be aborted: ${why}`);
    const job = this.#jobs.get(uuid);
    if (job?.committed) {
      throw tooLate("the guest is being handed over");
    }
    if (job) {
      job.cancelled = true;
      return;
    }
    const left = await Handover.leftOver(uuid, this.#parts);
    if (left && !(await left.takeBack(this.#guests))) {
      throw tooLate("the guest has arrived");
    }
    await left?.removeThere();
  }

  /**
   * Runs on both hosts. Removes the leftovers of a guest that runs elsewhere. @throws {InstanceExists} the guest runs
   * here.
   */
  async cleanup(instance: Instance, { destroyDisks, signal }: Pick<DestroyOptions, "destroyDisks" | "signal">) {
    const { uuid } = instance;
    const state = await this.#guests.find(uuid);
    if (state === "running" || state === "paused") {
      throw new InstanceExists(
        `guest ${guestName(instance)} (${uuid}) is ${state} on this host and is not cleaned up; destroy it if that is intended`,
      );
    }
    await this.#guests.remove(uuid, destroyDisks, signal);
  }

  /**
   * Runs on the destination, whose QEMU may still be reading the last data. @throws {GuestNotFound} the guest did not
   * arrive.
   */
  async arrived(instance: Instance): Promise<void> {
    const { context, config } = this.#parts;
    const deadline = context.clock.monotonic() + config.startTimeout * 1000;
    while ((await this.#receives(instance.uuid)) && context.clock.monotonic() < deadline) {
      await context.timers.sleep(LOOK);
    }
    await this.#guests.state(instance);
    await this.#guests.keepArrived(instance.uuid);
  }

  /** Returns whether the guest's memory is arriving, or has arrived and the guest is about to resume. */
  async #receives(uuid: string): Promise<boolean> {
    const qemu = await this.#parts.runs.find(uuid);
    if (!qemu || (await this.#guests.find(uuid)) !== "arriving") {
      return false;
    }
    try {
      return RECEIVING.has((await migrationStatus(qemu, this.#parts)).status);
    } catch (error) {
      if (!isEnd(error)) {
        throw error;
      }
      return false;
    }
  }

  /** @throws if it is unknown where the guest is. */
  async #move(instance: Instance, job: Job, options: LiveMigrationOptions): Promise<"moved" | "failed" | "cancelled"> {
    const handover = await this.#handover(instance, options).catch((error: unknown) => {
      this.#warn(instance, "the guest cannot be migrated live", error);
      return undefined;
    });
    if (!handover) {
      return "failed";
    }
    try {
      await this.#send(instance, handover, job, options);
    } catch (error) {
      if (!(error instanceof Cancelled)) {
        this.#warn(instance, "live migration failed; undoing it", error);
      }
      // If undoing fails as well, the first error is reported.
      const back = await handover.takeBack(this.#guests).catch((second: unknown) => {
        throw new Error(`the guest's location is unknown: ${String(error)}`, { cause: second });
      });
      if (back) {
        return error instanceof Cancelled ? "cancelled" : "failed";
      }
    }
    const { runs, definitions } = this.#parts;
    await runs.end(instance.uuid);
    await definitions.remove(instance.uuid);
    await handover.forget();
    return "moved";
  }

  async #handover(instance: Instance, { data, signal }: LiveMigrationOptions): Promise<Handover> {
    signal?.throwIfAborted();
    const destination = destinationIn(data.destination);
    if (!destination) {
      throw new Error("the destination's data contains no QEMU: both hosts must use the qemu driver");
    }
    const qemu = await this.#guests.active(instance);
    const running = (await this.#guests.state(instance)) === "running";
    const disks = data.blockMigration ? disksIn(data).map(({ name }) => name) : [];
    const handover = new Handover(qemu, { destination, disks, running }, this.#parts);
    await this.#parts.lease.assertCurrentEpoch();
    await handover.remember();
    return handover;
  }

  async #send(instance: Instance, handover: Handover, job: Job, options: LiveMigrationOptions): Promise<void> {
    const { signal, data, onProgress } = options;
    const assertNotCancelled = () => {
      if (job.cancelled && !job.committed) {
        throw new Cancelled("the live migration was aborted");
      }
    };
    let disks: typeof NO_DISKS | ReturnType<typeof diskProgress> = NO_DISKS;
    if (data.blockMigration) {
      await handover.mirror.begin(signal, (jobs) => {
        disks = diskProgress(jobs);
        onProgress({ ...NO_MEMORY, ...disks });
        assertNotCancelled();
      });
    }
    assertNotCancelled();
    await handover.send(signal);
    let hurried = false;
    await migrated(handover.qemu, this.#parts, signal, async ({ status, memory }: MigrationStatus) => {
      onProgress({ ...memory, ...disks });
      assertNotCancelled();
      if (job.forced && !hurried) {
        hurried = true;
        const parameters = { "downtime-limit": FORCED_DOWNTIME };
        await this.#guests.use(handover.qemu, (execute) => execute("migrate-set-parameters", parameters), signal);
      }
      if (status === "pre-switchover" && !job.committed) {
        job.committed = true;
        await this.#letGo(instance, handover, data.blockMigration, signal);
      }
      return false;
    });
  }

  /** Completes the handover. The guest is stopped on the source. */
  async #letGo(
    instance: Instance,
    handover: Handover,
    copiesDisks: boolean,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { context, lease } = this.#parts;
    if (copiesDisks) {
      await handover.mirror.finish(signal);
    }
    await lease.assertCurrentEpoch();
    const { uuid } = instance;
    const transition = "migration_completed";
    context.emitEvent({ timestamp: context.clock.now(), uuid, name: guestName(instance), transition });
    await this.#guests.use(
      handover.qemu,
      (execute) => execute("migrate-continue", { state: "pre-switchover" }),
      signal,
    );
  }

  #warn(instance: Instance, message: string, error: unknown): void {
    this.#parts.context.logger.warn(message, { instance: instance.uuid, err: error });
  }
}

function disksIn({ disks }: LiveMigrateData): readonly MovedDisk[] {
  const found = Array.isArray(disks) ? (disks as Partial<MovedDisk>[]) : [];
  return found.filter((disk): disk is MovedDisk => {
    return typeof disk.name === "string" && /^disk[\w.]*$/.test(disk.name) && typeof disk.bytes === "number";
  });
}

function diskProgress(jobs: readonly DiskJob[]) {
  const diskTotal = jobs.reduce((sum, { total }) => sum + total, 0);
  const diskProcessed = Math.min(
    diskTotal,
    jobs.reduce((sum, { processed }) => sum + processed, 0),
  );
  return { diskTotal, diskProcessed, diskRemaining: diskTotal - diskProcessed };
}
