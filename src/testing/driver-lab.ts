import { VirtualLogger } from "../simulation/virtual-logger.js";
import { createDriverHost } from "../virt/create-driver-host.js";
import type { DriverHost } from "../virt/driver-host.js";
import {
  type Allocations,
  compileDriverConfig,
  type DriverContext,
  type DriverDefinition,
  type Flavor,
  type Instance,
  type InventoryOptions,
  type LifecycleEvent,
  ProviderTree,
  type SpawnOptions,
  type VirtDriver,
} from "../virt/index.js";
import { Leavings } from "./leavings.js";
import { DEVICES, flavorOf, frozen, imageOf, instanceOf } from "./objects.js";
import type { CaseSetUp, CheckDoors, CheckPlace, DriverCheckOptions } from "./options.js";
import { Sabotage } from "./sabotage.js";
import { Suspension } from "./suspension.js";

export type HostName = "check-host-1" | "check-host-2";

const ADDRESSES: Readonly<Record<HostName, string>> = { "check-host-1": "192.0.2.1", "check-host-2": "192.0.2.2" };

const INVENTORY: InventoryOptions = {
  cpuAllocationRatio: null,
  ramAllocationRatio: null,
  diskAllocationRatio: null,
  initialCpuAllocationRatio: 4,
  initialRamAllocationRatio: 1,
  initialDiskAllocationRatio: 1,
  reservedHostCpus: 0,
  reservedHostMemoryMb: 0,
  reservedHostDiskMb: 0,
};

/** A driver on one host, as the agent has it, and bare. */
export interface CheckedHost {
  readonly name: HostName;
  readonly ip: string;
  /** Wrapped as in the agent. */
  readonly host: DriverHost;
  /** What the author wrote. */
  readonly bare: VirtDriver;
  readonly sabotage: Sabotage;
  readonly suspension: Suspension;
  readonly leavings: Leavings;
}

/** The world of one case: up to two hosts, and guests for them. */
export class DriverLab {
  readonly options: DriverCheckOptions;
  /** The events of all drivers, in order. */
  readonly events: LifecycleEvent[] = [];
  /** Warnings and errors that the wrapped drivers logged. */
  readonly complaints: string[] = [];
  readonly #definition: DriverDefinition;
  readonly #doors: CheckDoors;
  readonly #folder: string;
  readonly #connected: CheckedHost[] = [];
  readonly #blamed = new WeakMap<object, string>();
  readonly #nodeUuids = new Map<HostName, string>();
  /** The host of each server of the case, as the state of record would have it. */
  readonly #placed = new Map<string, HostName>();
  readonly #instances = new Map<string, Instance>();
  readonly #setUp: Promise<CaseSetUp>;
  #guests = 0;

  constructor(definition: DriverDefinition, doors: CheckDoors, folder: string, options: DriverCheckOptions) {
    this.#definition = definition;
    this.#doors = doors;
    this.#folder = folder;
    this.options = options;
    this.#setUp = (async () => (await options.setUp?.(doors, folder)) ?? {})();
    // The failure is reported where the case waits for it.
    this.#setUp.catch(() => {});
  }

  /** A new driver on a host, past its `initHost`. @param epoch of its lease; null: the driver gets none. */
  async connect(
    name: HostName = "check-host-1",
    config = this.options.config,
    epoch: number | null = null,
  ): Promise<CheckedHost> {
    const place: CheckPlace = { host: name, folder: this.#folder };
    const sabotage = new Sabotage();
    const suspension = new Suspension();
    const leavings = new Leavings();
    let bare: VirtDriver | undefined;
    const definition: DriverDefinition = {
      ...this.#definition,
      create: async (context) => {
        bare = await this.#definition.create(leavings.over(suspension.over(sabotage.over(context))));
        return bare;
      },
    };
    const given = config?.(place) ?? {};
    const { configSchema } = this.#definition;
    const context = {
      ...this.#context(name),
      config: configSchema ? compileDriverConfig(configSchema, given) : given,
      ...(await this.#setUp).context?.(place),
    };
    const host = await createDriverHost(definition, context, { epoch: () => epoch });
    if (bare === undefined) {
      throw new Error("create returned no driver");
    }
    host.setLifecycleListener(async (event) => void this.events.push(event));
    await host.initHost();
    const connected = {
      name,
      ip: host.getHostIpAddr(),
      host: this.#watched(host),
      bare,
      sabotage,
      suspension,
      leavings,
    };
    this.#connected.push(connected);
    return connected;
  }

  /** The method that threw this error, if one did. */
  blame(error: unknown): string | undefined {
    return typeof error === "object" && error !== null ? this.#blamed.get(error) : undefined;
  }

  /** Source and destination of a move. */
  async connectBoth(): Promise<readonly [source: CheckedHost, destination: CheckedHost]> {
    return [await this.connect("check-host-1"), await this.connect("check-host-2")];
  }

  get flavor(): Flavor {
    return frozen(flavorOf(this.options.flavor));
  }

  get largerFlavor(): Flavor {
    const { flavor, largerFlavor } = this.options;
    const larger = { id: 2, flavorid: "check.large", name: "check.large", vcpus: 2, memoryMb: 1024, rootGb: 2 };
    return frozen(flavorOf({ ...flavor, ...larger, ...largerFlavor }));
  }

  /** A server that was placed on the host but has no guest; each on a node of its own where the host has several. */
  async instance({ name, host }: CheckedHost, changes: Partial<Instance> = {}): Promise<Instance> {
    const nodes = await host.getAvailableNodes();
    const node = nodes[this.#guests % Math.max(1, nodes.length)] ?? name;
    this.#guests += 1;
    const uuid = this.#doors.random.uuid();
    this.#placed.set(uuid, name);
    const instance = instanceOf({ uuid, host: name, node, flavor: this.flavor }, { id: this.#guests, ...changes });
    this.#instances.set(uuid, frozen(instance));
    return instance;
  }

  /** The same server, placed on another host. */
  async moved(instance: Instance, to: CheckedHost): Promise<Instance> {
    const nodes = await to.host.getAvailableNodes();
    this.#placed.set(instance.uuid, to.name);
    return frozen({ ...instance, host: to.name, node: nodes[0] ?? to.name });
  }

  /** A server with its guest. */
  async spawned(on: CheckedHost, changes: Partial<Instance> = {}): Promise<Instance> {
    const instance = await this.instance(on, changes);
    await this.spawn(on, instance);
    return instance;
  }

  /** Builds as the agent does: prepare, then spawn. */
  async spawn(on: CheckedHost, instance: Instance, changes: Partial<SpawnOptions> = {}): Promise<void> {
    await on.host.prepareForSpawn(instance);
    await on.host.spawn(instance, { ...(await this.spawnOptions(on, instance)), ...changes });
  }

  async spawnOptions(on: CheckedHost, instance: Instance): Promise<SpawnOptions> {
    const image = frozen(imageOf(this.options.image));
    return { ...DEVICES, image, allocations: await this.allocations(on, instance), powerOn: true };
  }

  /** Rebuilds as the agent does with the same image. */
  async rebuild(on: CheckedHost, instance: Instance): Promise<void> {
    await on.host.rebuild(instance, await this.spawnOptions(on, instance));
  }

  /** What the instance holds: its flavor's resources on the root of its node. */
  async allocations({ host }: CheckedHost, { node, flavor }: Instance): Promise<Allocations> {
    const names = await host.getNodenamesByUuid();
    const root = [...names].find(([, name]) => name === node)?.[0];
    if (root === undefined) {
      return {};
    }
    return frozen({
      [root]: { resources: { VCPU: flavor.vcpus, MEMORY_MB: flavor.memoryMb, DISK_GB: flavor.rootGb } },
    });
  }

  /** A provider tree that has the roots of the host's nodes and nothing else, as at the first pass. */
  async emptyTree({ host }: CheckedHost): Promise<ProviderTree> {
    const tree = new ProviderTree();
    for (const [uuid, name] of await host.getNodenamesByUuid()) {
      tree.newRoot(name, uuid, 0);
    }
    return tree;
  }

  /** Lets time pass: until events that a driver holds back must have come. */
  async wait(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#doors.timers.after(milliseconds, resolve);
    });
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#doors.clock.now();
  }

  /** The work ends within so many milliseconds, well or not. */
  settles(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.#doors.timers.after(milliseconds, () => resolve(false));
      const settled = () => {
        cancel();
        resolve(true);
      };
      work.then(settled, settled);
    });
  }

  /**
   * Removes the case's guests, which may be more than files, and ends what is still connected. Errors of a driver that is
   * broken do not matter any more.
   */
  async close(): Promise<void> {
    for (const { sabotage } of this.#connected) {
      sabotage.disarm();
    }
    const last = new Map(this.#connected.map((connected) => [connected.name, connected]));
    for (const { host } of last.values()) {
      for (const uuid of await host.listInstanceUuids().catch(() => [])) {
        const instance = this.#instances.get(uuid);
        if (instance !== undefined) {
          await host.destroy(instance, { ...DEVICES, destroyDisks: true }).catch(() => {});
        }
      }
    }
    for (const { host } of this.#connected) {
      await host.cleanupHost().catch(() => {});
    }
    await (await this.#setUp).close?.();
  }

  /** Notes which method threw what. */
  #watched(host: DriverHost): DriverHost {
    const note = (method: string, error: unknown): never => {
      if (typeof error === "object" && error !== null && !this.#blamed.has(error)) {
        this.#blamed.set(error, method);
      }
      throw error;
    };
    return new Proxy(host, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") {
          return member;
        }
        return (...args: unknown[]): unknown => {
          const outcome: unknown = Reflect.apply(member, target, args);
          return outcome instanceof Promise ? outcome.catch((error: unknown) => note(String(name), error)) : outcome;
        };
      },
    });
  }

  #context(name: HostName): Omit<DriverContext, "emitEvent"> {
    const logger = new VirtualLogger((level, message) => {
      if (level === "warn" || level === "error" || level === "fatal") {
        this.complaints.push(message);
      }
    });
    return {
      host: name,
      clock: this.#doors.clock,
      timers: this.#doors.timers,
      random: this.#doors.random,
      http: this.#doors.http,
      files: this.#doors.files,
      logger,
      config: {},
      stateFolder: `${this.#folder}/${name}`,
      inventory: INVENTORY,
      myIp: ADDRESSES[name],
      workarounds: { upstreamQuirks: new Set(), skipReserveInUseIronicNodes: false },
      localNodeUuid: async () => this.#nodeUuid(name),
      virtApi: {
        instanceUuidsOfHost: async () => [...this.#placed].filter(([, host]) => host === name).map(([uuid]) => uuid),
        liveHosts: async () => [...new Set(this.#connected.map((connected) => connected.name))],
        instanceStates: async (uuid) => (this.#placed.has(uuid) ? { vmState: "active", taskState: null } : null),
      },
    };
  }

  #nodeUuid(name: HostName): string {
    const known = this.#nodeUuids.get(name) ?? this.#doors.random.uuid();
    this.#nodeUuids.set(name, known);
    return known;
  }
}
