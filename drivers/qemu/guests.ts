import {
  type DriverContext,
  GuestNotFound,
  type Image,
  type Instance,
  InstanceExists,
  InstanceNotRunning,
  POWER_STATES,
  type PowerState,
  type SpawnOptions,
} from "../../src/virt/index.js";
import type { QemuConfig } from "./config.js";
import { type Definition, type Definitions, guestName, newDefinition, toDiskSpecs } from "./definition.js";
import type { Disks } from "./disks.js";
import type { Layout, LeaseCheck } from "./hypervisor-folder.js";
import { type Execute, type GuestLock, type GuestProcess, isEnd, type Monitors } from "./monitor.js";
import type { Runs } from "./runs.js";

/** A guest's state. `suspended`: its memory is in a file. `arriving`: it is being migrated to this host. */
type GuestState = "running" | "paused" | "suspended" | "shutoff" | "crashed" | "arriving";

/** States by QEMU's names. Unlisted ones mean that the guest is paused for a moment. */
const STATES: Readonly<Record<string, GuestState>> = {
  running: "running",
  suspended: "running",
  inmigrate: "arriving",
  prelaunch: "shutoff",
  shutdown: "shutoff",
  // The guest has migrated to another host.
  postmigrate: "shutoff",
  "guest-panicked": "crashed",
  "internal-error": "crashed",
};

/** The components of one hypervisor. */
export interface HypervisorParts {
  readonly context: DriverContext;
  readonly config: QemuConfig;
  readonly layout: Layout;
  readonly definitions: Definitions;
  readonly disks: Disks;
  readonly runs: Runs;
  readonly monitors: Monitors;
  readonly lease: LeaseCheck;
  readonly lock: GuestLock;
}

/** Milliseconds after which the shutdown request to a guest is repeated. */
const SHUTDOWN_RETRY_MS = 10_000;

/** The most that Nova returns of a console. */
const CONSOLE_BYTES = 100 * 1024;

/** The guests of one hypervisor: a definition, disks, and a QEMU process while the guest runs. */
export class Guests {
  readonly #parts: HypervisorParts;

  constructor(parts: HypervisorParts) {
    this.#parts = parts;
  }

  /** Returns undefined if the guest is not on this hypervisor. */
  async find(uuid: string): Promise<GuestState | undefined> {
    const { definitions, runs, context, layout } = this.#parts;
    if (!(await definitions.exists(uuid))) {
      return undefined;
    }
    const qemu = await runs.find(uuid);
    const state = qemu ? await this.#stateOf(qemu) : "shutoff";
    if (state === "running") {
      await this.keepArrived(uuid);
      return state;
    }
    if ((state === "arriving" || state === "shutoff") && (await definitions.get(uuid))?.incoming) {
      return "arriving";
    }
    return (await context.files.stat(layout.memory(uuid))) ? "suspended" : state;
  }

  /** Returns the last part of the guest's output on its serial port. @throws {GuestNotFound} */
  async consoleOutput(instance: Instance): Promise<string> {
    const { context, layout } = this.#parts;
    await this.state(instance);
    const path = layout.console(instance.uuid);
    // Uses tail, since the console file has no size limit.
    return (await context.files.stat(path)) === undefined
      ? ""
      : (await context.processes.run({ argv: ["tail", "-c", String(CONSOLE_BYTES), path] })).stdout;
  }

  /** Records a guest that has arrived from another host as owned by this one, whatever happens to it afterwards. */
  async keepArrived(uuid: string): Promise<void> {
    const definition = await this.#parts.definitions.get(uuid);
    if (definition?.incoming) {
      await this.#parts.definitions.put({ ...definition, incoming: false });
    }
  }

  /** @throws {GuestNotFound} the guest is absent or has not fully arrived. */
  async state(instance: Instance): Promise<GuestState> {
    const state = await this.find(instance.uuid);
    if (state && state !== "arriving") {
      return state;
    }
    throw new GuestNotFound(
      `guest ${guestName(instance)} (${instance.uuid}) is not on hypervisor ${this.#parts.layout.root}`,
    );
  }

  /** Returns the definition of a guest on this hypervisor. @throws {GuestNotFound} */
  async definition(instance: Instance): Promise<Definition> {
    await this.state(instance);
    return (await this.#parts.definitions.get(instance.uuid)) ?? newDefinition(instance, this.#parts.config);
  }

  /** Returns the process of a running or paused guest. @throws {GuestNotFound} {@link InstanceNotRunning} */
  async active(instance: Instance): Promise<GuestProcess> {
    const state = await this.state(instance);
    const qemu = state === "running" || state === "paused" ? await this.#parts.runs.find(instance.uuid) : undefined;
    if (qemu) {
      return qemu;
    }
    throw new InstanceNotRunning(`guest ${guestName(instance)} (${instance.uuid}) is ${state}, expected running`);
  }

  /** Runs commands on the guest's QEMU monitor. */
  use<T>(qemu: GuestProcess, work: (execute: Execute) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#parts.monitors.use(qemu, work, signal);
  }

  /** Creates a guest: disks, then the definition, which makes the guest exist, then QEMU. */
  async create(instance: Instance, { image, powerOn, signal }: SpawnOptions): Promise<void> {
    const { definitions, disks, lease, layout } = this.#parts;
    const { uuid } = instance;
    if (await definitions.exists(uuid)) {
      throw new InstanceExists(`guest ${guestName(instance)} (${uuid}) is on hypervisor ${layout.root} already`);
    }
    const hadDisks = await disks.exists(uuid);
    try {
      await this.#makeDisks(instance, image, signal);
      await lease.assertCurrentEpoch();
      await definitions.put(newDefinition(instance, this.#parts.config));
      if (powerOn) {
        await this.boot(instance, signal);
      }
    } catch (error) {
      await this.#undoCreate(uuid, hadDisks);
      throw error;
    }
  }

  /** Redefines the guest, whose disks exist. */
  async define(instance: Instance, powerOn: boolean, signal: AbortSignal | undefined): Promise<void> {
    const { definitions, lease } = this.#parts;
    await lease.assertCurrentEpoch();
    await definitions.put(newDefinition(instance, this.#parts.config));
    if (powerOn) {
      await this.boot(instance, signal);
    } else {
      await this.stop(instance.uuid, 0, signal);
    }
  }

  /** Starts the guest from its disks. Its memory is lost. */
  async boot(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    const { definitions, runs, context, layout } = this.#parts;
    const definition = (await definitions.get(instance.uuid)) ?? newDefinition(instance, this.#parts.config);
    // The memory file is removed before the start: if the agent is killed here, the guest is stopped and has no
    // outdated memory.
    await runs.end(instance.uuid, signal);
    await context.files.remove(layout.memory(instance.uuid));
    await runs.start(definition, signal);
  }

  /** Stops the guest. @param timeout seconds for the guest to shut down by itself. */
  async stop(uuid: string, timeout: number, signal: AbortSignal | undefined): Promise<void> {
    const { runs, context, layout } = this.#parts;
    const qemu = await runs.find(uuid);
    if (qemu && timeout > 0 && (await this.#stateOf(qemu)) === "running") {
      await this.shutDown(qemu, timeout, signal);
    }
    await runs.end(uuid, signal);
    await context.files.remove(layout.memory(uuid));
  }

  /** Returns false if the guest does not shut down in time. */
  async shutDown(qemu: GuestProcess, timeout: number, signal: AbortSignal | undefined): Promise<boolean> {
    const { runs, lease, context } = this.#parts;
    const deadline = context.clock.monotonic() + timeout * 1000;
    for (;;) {
      await lease.assertCurrentEpoch();
      // The guest may end at this moment.
      await this.use(qemu, (execute) => execute("system_powerdown"), signal).catch(passEnd);
      const left = deadline - context.clock.monotonic();
      if (await runs.endsWithin(qemu, Math.max(0, Math.min(left, SHUTDOWN_RETRY_MS)), signal)) {
        return true;
      }
      if (context.clock.monotonic() >= deadline) {
        return false;
      }
    }
  }

  /** Recreates a guest whose definition or disks are missing, or whose disks a reverted move has set aside. */
  async hardReboot(instance: Instance, signal: AbortSignal | undefined): Promise<void> {
    const { definitions, disks, lease } = this.#parts;
    const { uuid } = instance;
    const definition = await definitions.get(uuid);
    if (definition?.leftBehind) {
      await disks.bringBack(uuid);
    }
    await this.#makeDisks(instance, undefined, signal);
    if (!definition || definition.leftBehind || definition.incoming) {
      await lease.assertCurrentEpoch();
      await definitions.put(newDefinition(instance, this.#parts.config));
    }
    await this.boot(instance, signal);
  }

  /** Removes the guest; succeeds if it is absent. The definition is removed once no process runs, the disks last. */
  async remove(uuid: string, destroyDisks: boolean, signal?: AbortSignal): Promise<void> {
    const { definitions, disks, runs, lease, context, layout } = this.#parts;
    await runs.end(uuid, signal);
    await lease.assertCurrentEpoch();
    await context.files.remove(layout.memory(uuid));
    await definitions.remove(uuid);
    await context.files.remove(layout.migration(uuid));
    if (destroyDisks) {
      await disks.remove(uuid);
    }
  }

  #makeDisks(instance: Instance, image: Image | undefined, signal: AbortSignal | undefined): Promise<void> {
    const diskSpecs = toDiskSpecs(instance, image?.minDisk);
    return this.#parts.disks.make(instance.uuid, diskSpecs, image, signal);
  }

  async #stateOf(qemu: GuestProcess): Promise<GuestState> {
    try {
      return stateOf(await this.use(qemu, (execute) => execute("query-status")));
    } catch (error) {
      if (!isEnd(error)) {
        throw error;
      }
      const { processes } = this.#parts.context;
      // The process has ended in the meantime, or has just begun and does not respond yet.
      return (await processes.look(qemu.pid))?.started === qemu.started ? "running" : "shutoff";
    }
  }

  async #undoCreate(uuid: string, keepDisks: boolean): Promise<void> {
    try {
      await this.remove(uuid, !keepDisks);
    } catch (error) {
      this.#parts.context.logger.warn("the leftovers of a failed spawn could not be removed", {
        instance: uuid,
        err: error,
      });
    }
  }
}

function passEnd(error: unknown): void {
  if (!isEnd(error)) {
    throw error;
  }
}

export function stateOf(status: unknown): GuestState {
  const word = typeof status === "object" && status !== null && "status" in status ? status.status : undefined;
  return STATES[String(word)] ?? "paused";
}

export function powerStateOf(state: GuestState): PowerState {
  if (state === "shutoff") {
    return POWER_STATES.shutdown;
  }
  // As libvirt reports it.
  return state === "arriving" ? POWER_STATES.paused : POWER_STATES[state];
}
