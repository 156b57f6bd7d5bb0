import type { Instance, PowerState } from "../../../../src/records/index.js";
import { POWER_STATES } from "../../../../src/records/index.js";
import {
  type Capabilities,
  type DriverContext,
  type DriverDefinition,
  defineDriver,
  GuestNotFound,
  type LifecycleTransition,
  type VirtDriver,
} from "../../../../src/virt/index.js";

export interface Guest {
  power: PowerState;
}

export interface HypervisorCall {
  readonly host: string;
  readonly method: string;
  readonly instance: string | null;
  readonly destroyDisks?: boolean;
  readonly resizeInstance?: boolean;
}

/** An in-memory hypervisor that outlives agents and records their calls. */
export class Hypervisor {
  name: string;
  readonly guests = new Map<string, Guest>();
  /** Instance directories; two hypervisors may share one. */
  readonly disks: Set<string>;
  readonly tokens: Set<string>;
  readonly calls: HypervisorCall[] = [];
  /** Method → the error that it throws before it does anything. */
  readonly failures = new Map<string, () => Error | undefined>();
  /** The method that never returns. */
  hang: string | null = null;
  capabilities: Capabilities = { supportsEvacuate: true };
  rebalancesNodes = false;
  probesStorage = true;
  onCall: (call: HypervisorCall) => void = () => {};
  readonly #contexts: DriverContext[] = [];
  #tokens = 0;

  constructor(name: string, sharedWith?: Hypervisor) {
    this.name = name;
    this.disks = sharedWith?.disks ?? new Set();
    this.tokens = sharedWith?.tokens ?? new Set();
  }

  addGuest(uuid: string, power: PowerState = POWER_STATES.running): void {
    this.guests.set(uuid, { power });
    this.disks.add(uuid);
  }

  /** Emits an event to the agent that listens now. */
  emit(uuid: string, transition: LifecycleTransition): void {
    for (const context of this.#contexts) {
      context.emitEvent({ timestamp: context.clock.now(), uuid, name: uuid, transition });
    }
  }

  /** Calls that changed guests. */
  get changes(): readonly HypervisorCall[] {
    return this.calls.filter(({ method }) => !["initHost", "cleanupHost", "probe"].includes(method));
  }

  driver(name = "fake-memory"): DriverDefinition {
    return defineDriver({ name, apiVersion: "1.0", create: (context) => this.#create(context) });
  }

  #create(context: DriverContext): VirtDriver {
    this.#contexts.push(context);
    type Options = Pick<HypervisorCall, "destroyDisks" | "resizeInstance">;
    const call = (method: string, instance: Instance | null, options: Options = {}): void => {
      const failure = this.failures.get(method)?.();
      if (failure) {
        throw failure;
      }
      const entry: HypervisorCall = {
        host: context.host,
        method,
        instance: instance?.uuid ?? null,
        ...options,
      };
      this.onCall(entry);
      this.calls.push(entry);
    };
    const guest = (instance: Instance): Guest => {
      const found = this.guests.get(instance.uuid);
      if (!found) {
        throw new GuestNotFound(`no guest of instance ${instance.uuid}`);
      }
      return found;
    };
    return {
      capabilities: this.capabilities,
      rebalancesNodes: this.rebalancesNodes,
      initHost: async () => call("initHost", null),
      cleanupHost: async () => {
        call("cleanupHost", null);
        if (this.hang === "cleanupHost") {
          await new Promise(() => {});
        }
      },
      listInstanceUuids: async () => {
        const failure = this.failures.get("listInstanceUuids")?.();
        if (failure) {
          throw failure;
        }
        return [...this.guests.keys()];
      },
      getAvailableNodes: async () => {
        const failure = this.failures.get("getAvailableNodes")?.();
        if (failure) {
          throw failure;
        }
        return [this.name];
      },
      getAvailableResource: async () => ({
        vcpus: 8,
        memoryMb: 8192,
        localGb: 100,
        vcpusUsed: 0,
        memoryMbUsed: 0,
        localGbUsed: 0,
        cpuInfo: null,
        numaTopology: null,
        hypervisorType: "fake",
        hypervisorVersion: 1,
        hypervisorHostname: this.name,
        supportedInstances: [],
        diskAvailableLeast: null,
      }),
      updateProviderTree: async (tree, node) => {
        const unit = { reserved: 0, minUnit: 1, stepSize: 1, allocationRatio: 1 };
        tree.updateInventory(node, {
          VCPU: { ...unit, total: 8, maxUnit: 8 },
          MEMORY_MB: { ...unit, total: 8192, maxUnit: 8192 },
          DISK_GB: { ...unit, total: 100, maxUnit: 100 },
        });
      },
      getHostIpAddr: () => context.myIp,
      getInfo: async (instance) => ({ state: guest(instance).power }),
      spawn: async (instance, { powerOn }) => {
        call("spawn", instance);
        this.addGuest(instance.uuid, powerOn ? POWER_STATES.running : POWER_STATES.shutdown);
      },
      destroy: async (instance, { destroyDisks }) => {
        if (this.hang === "destroy") {
          await new Promise(() => {});
        }
        call("destroy", instance, { destroyDisks });
        this.guests.delete(instance.uuid);
        if (destroyDisks) {
          this.disks.delete(instance.uuid);
        }
      },
      powerOff: async (instance) => {
        call("powerOff", instance);
        guest(instance).power = POWER_STATES.shutdown;
      },
      powerOn: async (instance) => {
        call("powerOn", instance);
        guest(instance).power = POWER_STATES.running;
      },
      reboot: async (instance, type) => {
        call(`reboot ${type}`, instance);
        this.addGuest(instance.uuid);
      },
      unpause: async (instance) => {
        call("unpause", instance);
        guest(instance).power = POWER_STATES.running;
      },
      resumeStateOnHostBoot: async (instance) => {
        call("resumeStateOnHostBoot", instance);
        this.addGuest(instance.uuid);
      },
      instanceOnDisk: async (instance) => this.disks.has(instance.uuid),
      deleteInstanceFiles: async (instance) => {
        call("deleteInstanceFiles", instance);
        return this.disks.delete(instance.uuid) || true;
      },
      pause: async (instance) => {
        call("pause", instance);
        guest(instance).power = POWER_STATES.paused;
      },
      suspend: async (instance) => {
        call("suspend", instance);
        guest(instance).power = POWER_STATES.suspended;
      },
      resume: async (instance) => {
        call("resume", instance);
        guest(instance).power = POWER_STATES.running;
      },
      rescue: async (instance) => {
        call("rescue", instance);
        guest(instance).power = POWER_STATES.running;
      },
      unrescue: async (instance) => {
        call("unrescue", instance);
        guest(instance).power = POWER_STATES.running;
      },
      setAdminPassword: async (instance) => {
        call("setAdminPassword", instance);
        guest(instance);
      },
      snapshot: async (instance, _image, { updateTaskState }) => {
        call("snapshot", instance);
        guest(instance);
        await updateTaskState("image_pending_upload");
        await updateTaskState("image_uploading");
      },
      migrateDiskAndPowerOff: async (instance) => {
        call("migrateDiskAndPowerOff", instance);
        guest(instance).power = POWER_STATES.shutdown;
        return JSON.stringify({ from: this.name });
      },
      finishMigration: async (_migration, instance, _diskInfo, { powerOn, resizeInstance }) => {
        call("finishMigration", instance, { resizeInstance });
        this.addGuest(instance.uuid, powerOn ? POWER_STATES.running : POWER_STATES.shutdown);
      },
      confirmMigration: async ({ sourceCompute, destCompute }, instance) => {
        call("confirmMigration", instance);
        if (sourceCompute === destCompute) {
          return;
        }
        this.guests.delete(instance.uuid);
        this.disks.delete(instance.uuid);
      },
      finishRevertMigration: async (instance, { powerOn }) => {
        call("finishRevertMigration", instance);
        this.addGuest(instance.uuid, powerOn ? POWER_STATES.running : POWER_STATES.shutdown);
      },
      liveMigrationAbort: async (instance) => call("liveMigrationAbort", instance),
      ...(this.probesStorage ? this.#probes(call) : {}),
    };
  }

  #probes(
    call: (method: string, instance: Instance | null) => void,
  ): Pick<
    VirtDriver,
    "checkInstanceSharedStorageLocal" | "checkInstanceSharedStorageRemote" | "checkInstanceSharedStorageCleanup"
  > {
    return {
      checkInstanceSharedStorageLocal: async (instance) => {
        call("probe", instance);
        if (!this.disks.has(instance.uuid)) {
          return null;
        }
        this.#tokens += 1;
        const token = `${this.name}-${this.#tokens}`;
        this.tokens.add(token);
        return { token };
      },
      checkInstanceSharedStorageRemote: async ({ token }) => this.tokens.has(String(token)),
      checkInstanceSharedStorageCleanup: async ({ token }) => {
        this.tokens.delete(String(token));
      },
    };
  }
}
