import {
  type Allocations,
  type BlockDeviceInfo,
  type DriverContext,
  type DriverOperationOptions,
  GuestNotFound,
  type Instance,
  InstanceAgentNotEnabled,
  InstanceExists,
  InstanceNotRunning,
  type NetworkInfo,
  type PowerOnOptions,
  type SpawnOptions,
} from "../../src/virt/index.js";
import type { FakeLibvirtConfig } from "./config.js";
import type { ConsoleLog } from "./console-log.js";
import type { AssignedDevice, Domain, DomainState } from "./domain.js";
import type { DomainStore } from "./domain-store.js";
import type { DomainWatcher } from "./domain-watcher.js";
import type { Fence } from "./fence.js";
import type { DeviceAssigner } from "./host-devices.js";
import type { HypervisorFolder } from "./hypervisor.js";
import { type InstanceFiles, RESCUE_XML } from "./instance-files.js";
import { domainName, newDomain, toDiskSpecs, toVolumeDisk } from "./new-domain.js";

/** The components of one hypervisor. */
export interface HypervisorParts {
  readonly context: DriverContext;
  readonly config: FakeLibvirtConfig;
  readonly folder: HypervisorFolder;
  readonly store: DomainStore;
  readonly files: InstanceFiles;
  readonly watcher: DomainWatcher;
  readonly devices: DeviceAssigner;
  readonly fence: Fence;
  readonly console: ConsoleLog;
}

interface Definition {
  /** The instance's allocations, which select its devices. If omitted, the guest keeps its devices. */
  readonly allocations?: Allocations | undefined;
  /** If omitted, the guest keeps its disks; a new one gets local disks only. */
  readonly blockDevices?: BlockDeviceInfo | undefined;
  /** GiB */
  readonly minDisk?: number;
  /** If omitted, the guest keeps its state. */
  readonly state?: DomainState;
  /** Default false. */
  readonly awaited?: boolean;
}

/** The guests of one hypervisor. */
export class Guests {
  readonly #parts: HypervisorParts;

  constructor(parts: HypervisorParts) {
    this.#parts = parts;
  }

  /** @throws {GuestNotFound} */
  async state(instance: Instance): Promise<DomainState> {
    const state = await this.#parts.store.state(instance.uuid);
    if (state) {
      return state;
    }
    throw new GuestNotFound(
      `guest ${domainName(instance)} (${instance.uuid}) is not on hypervisor ${this.#parts.folder.path}`,
    );
  }

  /** Sleeps for the duration of an operation. @throws the signal's reason. */
  async take(seconds: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (seconds > 0) {
      await this.#parts.context.timers.sleep(seconds * 1000, signal);
    }
  }

  /**
   * Runs the part of an operation that plugs the guest's ports, and waits until the network service reports them as
   * plugged.
   */
  async connect(
    uuid: string,
    network: readonly NetworkInfo[],
    signal: AbortSignal | undefined,
    plug: () => Promise<void>,
  ): Promise<void> {
    await this.#parts.context.virtApi.waitForVifs(uuid, network, plug, signal ? { signal } : {});
  }

  /** Creates a guest: disks, then the state, then the XML that defines it. */
  async create(instance: Instance, options: SpawnOptions): Promise<void> {
    const { image, allocations, network, blockDevices, powerOn, signal } = options;
    const { store, files, config, folder } = this.#parts;
    const { uuid } = instance;
    if (await store.exists(uuid)) {
      throw new InstanceExists(`guest ${domainName(instance)} (${uuid}) is on hypervisor ${folder.path} already`);
    }
    // A killed destroy may have left its state.
    await store.clearState(uuid);
    const removeDisks = await files.make(uuid, toDiskSpecs(instance, blockDevices, image.minDisk));
    try {
      await this.connect(uuid, network, signal, () => this.take(config.delaySpawn, signal));
      const state = powerOn ? "running" : "shutoff";
      await this.define(instance, { allocations, blockDevices, minDisk: image.minDisk, state });
    } catch (error) {
      await this.#undoCreate(uuid, removeDisks);
      throw error;
    }
  }

  /** @throws {ComputeResourcesUnavailable} the required devices are in use. */
  async define(instance: Instance, definition: Definition): Promise<void> {
    const { allocations, blockDevices, minDisk = 0, state, awaited = false } = definition;
    const { store, files, devices, config, context, console } = this.#parts;
    const known = await store.get(instance.uuid);
    const volumes = blockDevices === undefined ? (known?.volumes ?? []) : blockDevices.volumes.map(toVolumeDisk);
    const domainWith = (assigned: readonly AssignedDevice[]) =>
      newDomain({
        instance,
        disks: toDiskSpecs(instance, blockDevices, minDisk),
        volumes,
        files,
        format: config.imagesType === "raw" ? "raw" : "qcow2",
        devices: assigned,
        cpuModel: config.cpuModel,
        now: context.clock.now(),
      });
    await files.writeConfigDrive(instance);
    const define = (assigned: readonly AssignedDevice[]) => store.define({ ...domainWith(assigned), awaited }, state);
    if (allocations) {
      const others = async () => (await store.all()).filter(({ uuid }) => uuid !== instance.uuid);
      await devices.assign(allocations, others, define);
    } else {
      await define(known?.devices ?? []);
    }
    if (state === "running") {
      await console.boot(instance);
    }
  }

  /** Recreates a guest whose domain, XML or disks are missing, or whose disks a reverted move has set aside. */
  hardReboot(instance: Instance, options?: PowerOnOptions): Promise<void> {
    return this.#startAnew(instance, this.#parts.config.delayReboot, options);
  }

  /**
   * Starts the guest. Like libvirt, which defines every guest again when it starts it, restores disks that a reverted
   * move has set aside. @throws {GuestNotFound}
   */
  async powerOn(instance: Instance, options?: PowerOnOptions): Promise<void> {
    const { store, config } = this.#parts;
    const isSetAside = (await store.get(instance.uuid))?.leftBehind === true;
    return isSetAside
      ? this.#startAnew(instance, config.delayPowerOn, options)
      : this.change(instance, config.delayPowerOn, options, () => "running");
  }

  async #startAnew(instance: Instance, delay: number, options?: PowerOnOptions): Promise<void> {
    const { store, files, watcher, console } = this.#parts;
    const { uuid } = instance;
    await watcher.own(uuid, async () => {
      await this.take(delay, options?.signal);
      const domain = await store.get(uuid);
      if (domain?.leftBehind) {
        await files.bringBack(uuid);
      }
      const { blockDevices } = options ?? {};
      await files.make(uuid, toDiskSpecs(instance, blockDevices));
      if (domain && !domain.leftBehind) {
        await this.#reconnect(domain, blockDevices);
        await store.setState(uuid, "running");
        await console.boot(instance);
      } else {
        await this.define(instance, { ...(domain ? {} : { allocations: {} }), blockDevices, state: "running" });
      }
    });
  }

  /** Gives the guest its volumes with their present connections. A rescued guest keeps those that it has. */
  async #reconnect(domain: Domain, blockDevices: BlockDeviceInfo | undefined): Promise<void> {
    const { store, files, fence } = this.#parts;
    const volumes = blockDevices?.volumes.map(toVolumeDisk) ?? domain.volumes;
    const isUnchanged = JSON.stringify(volumes) === JSON.stringify(domain.volumes);
    if (isUnchanged || (await fence.disks.stat(files.disk(domain.uuid, RESCUE_XML))) !== undefined) {
      return;
    }
    await store.define({ ...domain, volumes });
  }

  /** Shuts the guest down and starts it again. @throws {GuestNotFound} */
  async softReboot(instance: Instance, options?: DriverOperationOptions): Promise<void> {
    const { config, console, watcher } = this.#parts;
    await watcher.own(instance.uuid, async () => {
      const ran = (await this.state(instance)) === "running";
      await this.change(instance, config.delayReboot, options, () => "running");
      if (ran) {
        await console.powerDown(instance);
        await console.boot(instance);
      }
    });
  }

  /** @throws {GuestNotFound} */
  async change(
    instance: Instance,
    delay: number,
    options: DriverOperationOptions | undefined,
    next: (state: DomainState) => DomainState,
  ): Promise<void> {
    const { store, watcher, console } = this.#parts;
    await watcher.own(instance.uuid, async () => {
      const targetState = next(await this.state(instance));
      await this.take(delay, options?.signal);
      // The guest may have been removed or stopped by others during the delay.
      const before = await this.state(instance);
      if (before === targetState) {
        return;
      }
      const after = next(before);
      await store.setState(instance.uuid, after);
      if (after === "running" && (before === "shutoff" || before === "crashed")) {
        await console.boot(instance);
      } else if (after === "shutoff" && before === "running") {
        await console.powerDown(instance);
      }
    });
  }

  /**
   * Checks the preconditions as libvirt does, which needs a guest agent in the image. Sets no password, since nobody
   * can log in to these guests.
   */
  async setAdminPassword(instance: Instance): Promise<void> {
    if ((await this.state(instance)) !== "running") {
      throw new InstanceNotRunning(`guest ${domainName(instance)} (${instance.uuid}) does not run`);
    }
    if (!isTrue(instance.systemMetadata.image_hw_qemu_guest_agent)) {
      throw new InstanceAgentNotEnabled("QEMU guest agent is not enabled");
    }
  }

  async #undoCreate(uuid: string, removeDisks: () => Promise<void>): Promise<void> {
    try {
      await this.#parts.store.undefine(uuid);
      await removeDisks();
    } catch (error) {
      this.#parts.context.logger.warn("the leftovers of a failed spawn could not be removed", {
        instance: uuid,
        err: error,
      });
    }
  }
}

/** Parses a boolean image property as Nova does. */
const isTrue = (property: string | undefined): boolean => /^(1|t|true|on|y|yes)$/i.test(property?.trim() ?? "");
