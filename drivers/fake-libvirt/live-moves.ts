import {
  type DestroyOptions,
  type Instance,
  InstanceExists,
  InstanceNotRunning,
  type LiveMigrateData,
  type LiveMigrationOptions,
  type PreLiveMigrationOptions,
} from "../../src/virt/index.js";
import { type Domain, type DomainState, diskGbOf } from "./domain.js";
import type { Guests, HypervisorParts } from "./guests.js";
import { DiskNotFound } from "./instance-files.js";
import { destinationIn, Handover, volumesIn } from "./live-migration-destination.js";
import { type CopyOutcome, LiveMigrationJob } from "./live-migration-job.js";
import { domainName, toDiskSpecs } from "./new-domain.js";

/** Live migration (spec 8.3) except its checks. The job is in memory, so it ends if the agent is killed. */
export class LiveMoves {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;
  readonly #jobs = new Map<string, LiveMigrationJob>();

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  /** Runs on the destination. */
  async prepare(
    instance: Instance,
    { data, blockDevices, signal }: PreLiveMigrationOptions,
    destination: object,
  ): Promise<LiveMigrateData> {
    const { store, files, watcher, config, folder } = this.#parts;
    const { uuid } = instance;
    return watcher.own(uuid, async () => {
      await this.#guests.take(config.delayPreLiveMigration, signal);
      // The guest of an earlier, unfinished migration is created again.
      if ((await store.exists(uuid)) && !(await store.get(uuid))?.awaited) {
        throw new InstanceExists(`guest ${domainName(instance)} (${uuid}) is on hypervisor ${folder.path} already`);
      }
      const diskSpecs = toDiskSpecs(instance, blockDevices);
      if (!data.sharedInstanceFiles) {
        await files.make(uuid, diskSpecs);
      } else if (diskSpecs.some(({ name }) => name === "disk") && !(await files.hasDisk(uuid))) {
        throw new DiskNotFound(`the disk of guest ${uuid} is not in ${files.folder(uuid)}, though both hosts share it`);
      }
      if (data.guestMadeAnew) {
        await this.#guests.define(instance, { blockDevices, state: "shutoff", awaited: true });
      }
      // The source defines the guest here, and needs this host's connections for it.
      const { volumes } = blockDevices;
      return { ...data, destination, ...(volumes.length === 0 ? {} : { volumes }) };
    });
  }

  /** Runs on the destination. Ensures that the guest is here. @throws {GuestNotFound} the guest did not arrive. */
  async arrive(instance: Instance): Promise<void> {
    const { store, watcher } = this.#parts;
    const { uuid, vmState } = instance;
    await this.#guests.state(instance);
    await watcher.own(uuid, async () => {
      const domain = await store.get(uuid);
      if (domain?.awaited) {
        await store.setState(uuid, vmState === "paused" ? "paused" : "running");
        await store.define({ ...domain, awaited: false });
      }
    });
  }

  /** Runs on the source. */
  async migrate(instance: Instance, options: LiveMigrationOptions): Promise<void> {
    const { uuid } = instance;
    const state = await this.#guests.state(instance);
    const domain = await this.#parts.store.get(uuid);
    if (this.#jobs.has(uuid)) {
      throw new InstanceExists(`a live migration of guest ${uuid} is already in progress`);
    }
    if (!domain || !isActive(state)) {
      this.#warn(instance, `the guest is ${state} and cannot be migrated live`);
      await options.recoverMethod({ status: "failed" });
      return;
    }
    const job = this.#newJob(instance, domain, options);
    this.#jobs.set(uuid, job);
    const ended = await this.#move(instance, domain, state, job, options).finally(() => this.#jobs.delete(uuid));
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
      throw new InstanceNotRunning(`no live migration of guest ${domainName(instance)} (${instance.uuid}) is running`);
    }
    job.force();
  }

  /**
   * Runs on the source. Also undoes a migration that an earlier process left. @throws {InstanceNotRunning} it is too
   * late.
   */
  async abort(instance: Instance): Promise<void> {
    const { uuid } = instance;
    const job = this.#jobs.get(uuid);
    if (job) {
      if (job.cancel()) {
        return;
      }
      throw new InstanceNotRunning(
        `the live migration of guest ${domainName(instance)} (${uuid}) can no longer be aborted: the guest is being handed over`,
      );
    }
    await this.#parts.watcher.own(uuid, async () => {
      const left = await Handover.leftOver(uuid, this.#parts);
      await left?.takeBack();
      await left?.removeFilesThere();
    });
  }

  /**
   * Runs on both hosts. Removes the leftovers of a guest that runs elsewhere. @throws {InstanceExists} the guest runs
   * here.
   */
  async cleanup(instance: Instance, { destroyDisks }: Pick<DestroyOptions, "destroyDisks">): Promise<void> {
    const { store, files, watcher } = this.#parts;
    const { uuid } = instance;
    await watcher.own(uuid, async () => {
      const state = await store.state(uuid);
      if (state && isActive(state)) {
        throw new InstanceExists(
          `guest ${domainName(instance)} (${uuid}) is ${state} on this host and is not cleaned up; destroy it if that is intended`,
        );
      }
      await store.undefine(uuid);
      if (destroyDisks) {
        await files.remove(uuid);
      }
    });
  }

  #newJob(instance: Instance, domain: Domain, { data, signal, onProgress }: LiveMigrationOptions): LiveMigrationJob {
    const { config, context, store } = this.#parts;
    return new LiveMigrationJob({
      memoryMb: domain.memoryMb,
      diskGb: data.blockMigration ? diskGbOf(domain) : 0,
      milliseconds: config.delayLiveMigration * 1000,
      timers: context.timers,
      signal,
      onProgress,
      isHere: async () => isActive((await store.state(instance.uuid)) ?? "shutoff"),
    });
  }

  /** @throws if it is unknown where the guest is. */
  async #move(
    instance: Instance,
    domain: Domain,
    state: DomainState,
    job: LiveMigrationJob,
    { data }: LiveMigrationOptions,
  ): Promise<"moved" | "failed" | "cancelled"> {
    if (data.guestMadeAnew) {
      return this.#leave(instance, domain, job);
    }
    const destination = destinationIn(data.destination);
    if (!destination) {
      this.#warn(
        instance,
        "the destination's data contains no hypervisor: both hosts must use the fake-libvirt driver",
      );
      return "failed";
    }
    const { sharedInstanceFiles } = data;
    const stored = { destination, sharedInstanceFiles, state, volumes: volumesIn(data) };
    const handover = await Handover.begin(domain, stored, this.#parts);
    try {
      const copied = await job.copy();
      const outcome = await this.#parts.watcher.own(instance.uuid, () => this.#end(domain, copied, job, handover));
      if (outcome === "moved") {
        return "moved";
      }
      await this.#parts.watcher.own(instance.uuid, () => handover.takeBack());
      return outcome;
    } catch (error) {
      this.#warn(instance, "live migration failed; undoing it", error);
      await this.#parts.watcher.own(instance.uuid, () => handover.takeBack());
      return "failed";
    }
  }

  /** Removes the guest here without a handover; the destination creates it again. */
  async #leave(instance: Instance, domain: Domain, job: LiveMigrationJob): Promise<"moved" | "failed" | "cancelled"> {
    const { store, watcher } = this.#parts;
    const copied = await job.copy();
    if (copied === "cancelled" || copied === "failed") {
      return copied;
    }
    return watcher.own(domain.uuid, async () => {
      job.commit();
      try {
        await store.undefine(domain.uuid);
      } catch (error) {
        if (!(await store.exists(domain.uuid))) {
          throw error;
        }
        this.#warn(instance, "live migration failed: the guest is still on this host", error);
        return "failed";
      }
      this.#emitTransition(domain, "migration_completed");
      return "moved";
    });
  }

  async #end(
    domain: Domain,
    copied: CopyOutcome,
    job: LiveMigrationJob,
    handover: Handover,
  ): Promise<"moved" | "failed" | "cancelled"> {
    if (copied === "cancelled" || copied === "failed") {
      return copied;
    }
    const postCopy = copied === "forced" && this.#parts.config.liveMigrationPermitPostCopy;
    await handover.pauseHere();
    if (copied === "forced" && !postCopy) {
      const rest = await job.copyRest();
      if (rest === "cancelled" || rest === "failed") {
        return rest;
      }
    }
    job.commit();
    this.#emitTransition(domain, postCopy ? "postcopy_started" : "migration_completed");
    await handover.appearThere();
    if (postCopy) {
      await job.copyRest();
    }
    await handover.vanishHere();
    await handover.finish();
    return "moved";
  }

  #emitTransition({ uuid, name }: Domain, transition: "postcopy_started" | "migration_completed"): void {
    const { context } = this.#parts;
    context.emitEvent({ timestamp: context.clock.now(), uuid, name, transition });
  }

  #warn(instance: Instance, message: string, error?: unknown): void {
    this.#parts.context.logger.warn(message, {
      instance: instance.uuid,
      ...(error === undefined ? {} : { err: error }),
    });
  }
}

const isActive = (state: DomainState): boolean => state === "running" || state === "paused";
