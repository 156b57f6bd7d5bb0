import {
  type DriverOperationOptions,
  type Instance,
  InstanceNotRunning,
  type RescueOptions,
} from "../../src/virt/index.js";
import { assertSupportedImage, guestName, quoted, RESCUE_DISK } from "./definition.js";
import { type Guests, type HypervisorParts, stateOf } from "./guests.js";
import { migrated } from "./jobs.js";
import type { GuestProcess } from "./monitor.js";

/** Starts, stops, pauses and resumes guests. */
export class Power {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  /** @param timeout seconds for the guest to shut down by itself. @throws {GuestNotFound} */
  async off(instance: Instance, timeout: number, signal: AbortSignal | undefined): Promise<void> {
    await this.#guests.state(instance);
    await this.#guests.stop(instance.uuid, timeout, signal);
  }

  /** Boots the guest from any state except running, as Nova's libvirt driver does. @throws {GuestNotFound} */
  async on(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    if ((await this.#guests.state(instance)) !== "running") {
      await this.#guests.boot(instance, signal);
    }
  }

  /**
   * Reboots the guest. A soft reboot becomes a hard one if the guest does not shut down in time. @throws
   * {GuestNotFound}
   */
  async reboot(instance: Instance, type: "SOFT" | "HARD", signal: AbortSignal | undefined): Promise<void> {
    if (type === "SOFT" && (await this.#guests.state(instance)) === "running") {
      const qemu = await this.#guests.active(instance);
      await this.#guests.shutDown(qemu, this.#parts.config.waitSoftRebootSeconds, signal);
    }
    await this.#guests.hardReboot(instance, signal);
  }

  pause(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    return this.#runCommand(instance, "stop", signal);
  }

  unpause(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    return this.#runCommand(instance, "cont", signal);
  }

  /** Starts the guest after a restart of the host. A suspended guest stays suspended until its owner resumes it. */
  async resumeOnBoot(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    const state = await this.#guests.find(instance.uuid);
    if (state === undefined || state === "shutoff" || state === "crashed") {
      await this.#guests.hardReboot(instance, signal);
    }
  }

  /** @throws {GuestNotFound} {@link InstanceNotRunning} */
  async #runCommand(instance: Instance, command: "stop" | "cont", signal: AbortSignal | undefined): Promise<void> {
    const qemu = await this.#guests.active(instance);
    await this.#parts.lease.assertCurrentEpoch();
    await this.#guests.use(qemu, (execute) => execute(command), signal);
    const expectedState = command === "stop" ? "paused" : "running";
    const found = await this.#guests.state(instance);
    if (found !== expectedState) {
      throw new InstanceNotRunning(
        `guest ${guestName(instance)} (${instance.uuid}) is ${found}, expected ${expectedState}`,
      );
    }
  }
}

/** Milliseconds between two polls of a guest whose memory is being read. */
const LOOK = 50;

/**
 * Suspends guests: the memory is in a file while no process runs. As long as the file exists, the guest has not run
 * since.
 */
export class Memory {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  /** @throws {GuestNotFound} {@link InstanceNotRunning} */
  async suspend(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    const { runs, lease, layout, context } = this.#parts;
    const { uuid } = instance;
    if ((await this.#guests.state(instance)) === "suspended") {
      await runs.end(uuid, signal);
      return;
    }
    const qemu = await this.#guests.active(instance);
    await lease.assertCurrentEpoch();
    const part = `${layout.memory(uuid)}.part`;
    try {
      await this.#guests.use(qemu, (execute) => execute("stop"), signal);
      const uri = `exec:cat > ${quoted(part)}`;
      await this.#guests.use(qemu, (execute) => execute("migrate", { uri }), signal);
      await migrated(qemu, this.#parts, signal);
    } catch (error) {
      await this.#goOn(qemu);
      throw error;
    }
    await context.files.rename(part, layout.memory(uuid));
    await runs.end(uuid, signal);
  }

  /** @throws {GuestNotFound} {@link InstanceNotRunning} the guest is neither suspended nor running. */
  async resume(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    const { runs, definitions, layout, context, lease } = this.#parts;
    const { uuid } = instance;
    const state = await this.#guests.state(instance);
    if (state === "running") {
      return;
    }
    const definition = await definitions.get(uuid);
    if (state !== "suspended" || !definition) {
      throw new InstanceNotRunning(`guest ${guestName(instance)} (${uuid}) is ${state}, expected suspended`);
    }
    // A process left by an interrupted suspend or resume has the same memory and has not run on.
    const qemu = await runs.start(definition, signal, `exec:cat ${quoted(layout.memory(uuid))}`);
    await this.#read(qemu, signal);
    await lease.assertCurrentEpoch();
    // Removed before the guest resumes: old memory must never be loaded with a disk that was written since.
    await context.files.remove(layout.memory(uuid));
    await this.#guests.use(qemu, (execute) => execute("cont"), signal);
  }

  async #read(qemu: GuestProcess, signal: AbortSignal | undefined): Promise<void> {
    const { timers } = this.#parts.context;
    const status = () => this.#guests.use(qemu, (execute) => execute("query-status"), signal);
    while (stateOf(await status()) === "arriving") {
      await timers.sleep(LOOK, signal);
    }
  }

  /** Resumes a guest whose memory could not be saved. */
  async #goOn(qemu: GuestProcess): Promise<void> {
    try {
      await this.#guests.use(qemu, async (execute) => {
        await execute("migrate_cancel");
        await execute("cont");
      });
    } catch (error) {
      const { logger } = this.#parts.context;
      logger.warn("a guest whose memory could not be saved could not be resumed", { instance: qemu.uuid, err: error });
    }
  }
}

/** Boots a guest from another image with its own disks attached, and restores it. */
export class Rescue {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  /** @throws {GuestNotFound} {@link BuildAbortException} */
  async rescue(instance: Instance, { image, signal }: RescueOptions): Promise<void> {
    const { definitions, disks, layout } = this.#parts;
    assertSupportedImage(image);
    const definition = await this.#guests.definition(instance);
    await disks.makeRescue(layout.disk(instance.uuid, RESCUE_DISK), image, signal);
    await definitions.put({ ...definition, rescued: true });
    await this.#guests.boot(instance, signal);
  }

  /** @throws {GuestNotFound} */
  async unrescue(instance: Instance, options: DriverOperationOptions | undefined): Promise<void> {
    const { definitions, context, layout, lease } = this.#parts;
    const definition = await this.#guests.definition(instance);
    if (definition.rescued) {
      await lease.assertCurrentEpoch();
      await definitions.put({ ...definition, rescued: false });
      await this.#guests.boot(instance, options?.signal);
    }
    await context.files.remove(layout.disk(instance.uuid, RESCUE_DISK));
  }
}
