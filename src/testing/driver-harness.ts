import type { LogLevel } from "../runtime/level-logger.js";
import { VirtualLogger } from "../simulation/virtual-logger.js";
import { createDriverHost } from "../virt/create-driver-host.js";
import type { DriverHost } from "../virt/driver-host.js";
import {
  type Allocations,
  compileDriverConfig,
  type DriverDefinition,
  type DriverHostDeps,
  type Flavor,
  type ImageMeta,
  type Instance,
  type LifecycleEvent,
  ProviderTree,
  type SpawnOptions,
  type VirtDriver,
  type WithoutBytes,
} from "../virt/index.js";
import { Blame, Leftovers, Sabotage, Suspension } from "./driver-instrumentation.js";
import {
  DEVICES,
  flavorOf,
  frozen,
  HarnessImages,
  type HarnessMemory,
  HarnessServers,
  type HostName,
  INVENTORY,
  imageOf,
} from "./harness-fixtures.js";
import type { CanaryGuest, CaseSetUp, CheckDeps, CheckPlace, DriverCheckOptions } from "./options.js";

const ADDRESSES: Readonly<Record<HostName, string>> = { "check-host-1": "192.0.2.1", "check-host-2": "192.0.2.2" };

/** A driver on one host, wrapped as in the agent, and unwrapped. */
export interface CheckedHost {
  readonly name: HostName;
  readonly ip: string;
  /** The driver wrapped as in the agent. */
  readonly host: DriverHost;
  /** The driver's own object. */
  readonly bare: VirtDriver;
  readonly sabotage: Sabotage;
  readonly suspension: Suspension;
  readonly leftovers: Leftovers;
  /** The driver's options on this host. */
  readonly config: Readonly<Record<string, unknown>>;
}

/** Observers of a harness. */
export interface HarnessWatch {
  /** The saved state of an earlier process. */
  readonly memory?: HarnessMemory;
  /** Wraps the driver's own object, to observe its calls. */
  readonly over?: (driver: VirtDriver) => VirtDriver;
  readonly onClose?: () => void;
  /** Is called before a server gets a guest. */
  readonly onPlaced?: (memory: HarnessMemory) => void;
  readonly onLog?: (host: HostName, level: LogLevel, message: string) => void;
}

/** The environment of one case: up to two hosts, and guests for them. */
export class DriverHarness {
  readonly options: DriverCheckOptions;
  readonly images: HarnessImages;
  /** The events of all drivers, in order. */
  readonly events: LifecycleEvent[] = [];
  /** Warnings and errors that the wrapped drivers logged. */
  readonly complaints: string[] = [];
  readonly #definition: DriverDefinition;
  readonly #deps: CheckDeps;
  readonly #folder: string;
  readonly #connected: CheckedHost[] = [];
  readonly #blame = new Blame();
  readonly #servers: HarnessServers;
  readonly #setUp: Promise<CaseSetUp>;
  readonly #watch: HarnessWatch;
  /** Number of interface calls of the last work that was interrupted at every call. */
  adapterCalls = 0;

  constructor(
    definition: DriverDefinition,
    deps: CheckDeps,
    folder: string,
    options: DriverCheckOptions,
    watch: HarnessWatch = {},
  ) {
    this.#watch = watch;
    this.#servers = new HarnessServers(deps.random, watch.memory);
    this.#definition = definition;
    this.#deps = deps;
    this.#folder = folder;
    this.options = options;
    this.images = new HarnessImages(deps.files, `${folder}/image-service`);
    this.#setUp = (async () => {
      // The earlier process has already done this.
      if (watch.memory === undefined) {
        await options.prepare?.(deps, folder);
      }
      return (await options.setUp?.(deps, folder)) ?? {};
    })();
    // The error is reported when the case awaits it.
    this.#setUp.catch(() => {});
  }

  /** Connects a new driver to a host, including `initHost`. @param epoch of its lease; null: the driver gets none. */
  async connect(
    name: HostName = "check-host-1",
    config = this.options.config,
    epoch: number | null = null,
  ): Promise<CheckedHost> {
    const place: CheckPlace = { host: name, folder: this.#folder };
    const sabotage = new Sabotage();
    const suspension = new Suspension();
    const leftovers = new Leftovers();
    let bare: VirtDriver | undefined;
    const definition: DriverDefinition = {
      ...this.#definition,
      create: async (context) => {
        const made = await this.#definition.create(leftovers.over(suspension.over(sabotage.over(context))));
        bare = typeof made === "object" && made !== null ? (this.#watch.over?.(made) ?? made) : made;
        return bare;
      },
    };
    const rawConfig = config?.(place) ?? {};
    const { configSchema } = this.#definition;
    const context = {
      ...this.#context(name),
      config: configSchema ? compileDriverConfig(configSchema, rawConfig) : rawConfig,
      ...(await this.#setUp).context?.(place),
    };
    const host = await createDriverHost(definition, context, { epoch: () => epoch }).catch((error: unknown) =>
      this.#blame.note("create", error),
    );
    if (bare === undefined) {
      throw new Error("create returned no driver");
    }
    host.setLifecycleListener(async (event) => void this.events.push(event));
    const watched = this.#blame.watched(host);
    await watched.initHost();
    const connected = {
      name,
      ip: host.getHostIpAddr(),
      host: watched,
      bare,
      sabotage,
      suspension,
      leftovers,
      config: context.config,
    };
    this.#connected.push(connected);
    return connected;
  }

  get memory(): HarnessMemory {
    return this.#servers.memory;
  }

  /** Returns the method that threw this error, if one did. */
  blame(error: unknown): string | undefined {
    return this.#blame.of(error);
  }

  /** Connects the source and the destination of a move. */
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

  get image(): ImageMeta {
    return frozen(imageOf(this.options.image));
  }

  /** Creates a server that is placed on the host and has no guest. Servers are spread over the nodes of the host. */
  async instance({ name, host }: CheckedHost, changes: Partial<Instance> = {}): Promise<Instance> {
    const nodes = await host.getAvailableNodes();
    const instance = this.#servers.add(name, nodes, this.flavor, changes);
    this.#watch.onPlaced?.(this.memory);
    return instance;
  }

  /** Places the same server on another host. */
  async moved(instance: Instance, to: CheckedHost): Promise<Instance> {
    const nodes = await to.host.getAvailableNodes();
    this.#servers.place(instance.uuid, to.name);
    return frozen({ ...instance, host: to.name, node: nodes[0] ?? to.name });
  }

  /** Creates a server with its guest. */
  async spawned(on: CheckedHost, changes: Partial<Instance> = {}): Promise<Instance> {
    const instance = await this.instance(on, changes);
    await this.spawn(on, instance);
    return instance;
  }

  /** Builds a guest as the agent does: prepare, then spawn. */
  async spawn(on: CheckedHost, instance: Instance, changes: Partial<WithoutBytes<SpawnOptions>> = {}): Promise<void> {
    await on.host.prepareForSpawn(instance);
    await on.host.spawn(instance, { ...(await this.spawnOptions(on, instance)), ...changes });
  }

  async spawnOptions(on: CheckedHost, instance: Instance): Promise<WithoutBytes<SpawnOptions>> {
    const { image } = this;
    return { ...DEVICES, image, allocations: await this.allocations(on, instance), powerOn: true };
  }

  /** Rebuilds a guest with the same image, as the agent does. */
  async rebuild(on: CheckedHost, instance: Instance): Promise<void> {
    await on.host.rebuild(instance, await this.spawnOptions(on, instance));
  }

  canaryGuest({ name, config }: CheckedHost, instance: Instance): CanaryGuest {
    const place = { host: name, folder: this.#folder, stateFolder: this.#stateFolder(name) };
    return { ...place, instance, config, deps: this.#deps, doors: this.#deps };
  }

  /** Returns the instance's allocations: its flavor's resources on the root provider of its node. */
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

  /** Creates a provider tree with only the roots of the host's nodes, as at the first pass. */
  async emptyTree({ host }: CheckedHost): Promise<ProviderTree> {
    const tree = new ProviderTree();
    for (const [uuid, name] of await host.getNodenamesByUuid()) {
      tree.newRoot(name, uuid, 0);
    }
    return tree;
  }

  /** Waits, for example until delayed events of a driver must have arrived. */
  async wait(milliseconds: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#deps.timers.after(milliseconds, resolve);
    });
  }

  /** Returns milliseconds since the epoch. */
  now(): number {
    return this.#deps.clock.now();
  }

  /** Returns whether the work settles within so many milliseconds. */
  settles(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.#deps.timers.after(milliseconds, () => resolve(false));
      const settled = () => {
        cancel();
        resolve(true);
      };
      work.then(settled, settled);
    });
  }

  /** Destroys the guests of a case before the next iteration, so that they do not all run at once. Ignores failures. */
  async destroyGuests(): Promise<void> {
    const last = new Map(this.#connected.map((connected) => [connected.name, connected]));
    for (const { host } of last.values()) {
      for (const uuid of await host.listInstanceUuids().catch(() => [])) {
        const instance = this.#servers.instance(uuid);
        if (instance !== undefined) {
          await host.destroy(instance, { ...DEVICES, destroyDisks: true }).catch(() => {});
        }
      }
    }
  }

  /**
   * Removes the case's guests, which may be more than files, and closes all connections. Errors of a broken driver no longer
   * matter here.
   */
  async close(): Promise<void> {
    this.#watch.onClose?.();
    for (const { sabotage } of this.#connected) {
      sabotage.disarm();
    }
    await this.destroyGuests();
    for (const { host } of this.#connected) {
      await host.cleanupHost().catch(() => {});
    }
    await (await this.#setUp).close?.();
  }

  /** Removes what the driver itself does not remove. Ignores errors. */
  async sweep(): Promise<void> {
    await Promise.resolve(this.options.sweep?.({ folder: this.#folder, deps: this.#deps, doors: this.#deps })).catch(
      () => {},
    );
  }

  #context(name: HostName): DriverHostDeps {
    const logger = new VirtualLogger((level, message) => {
      this.#watch.onLog?.(name, level, message);
      if (level === "warn" || level === "error" || level === "fatal") {
        this.complaints.push(message);
      }
    });
    return {
      host: name,
      ...this.#deps,
      logger,
      images: this.images,
      config: {},
      stateFolder: this.#stateFolder(name),
      inventory: INVENTORY,
      myIp: ADDRESSES[name],
      workarounds: { upstreamQuirks: new Set(), skipReserveInUseIronicNodes: false },
      localNodeUuid: async () => this.nodeUuid(name),
      virtApi: {
        instanceUuidsOfHost: async () => this.#servers.uuidsOn(name),
        liveHosts: async () => [...new Set(this.#connected.map((connected) => connected.name))],
        waitForVifs: (_uuid, _ports, plug) => plug(),
        instanceStates: async (uuid) => (this.#servers.isPlaced(uuid) ? { vmState: "active", taskState: null } : null),
      },
    };
  }

  #stateFolder(name: HostName): string {
    return `${this.#folder}/${name}`;
  }

  /** Returns the value of `localNodeUuid` on the host. */
  nodeUuid(name: HostName): string {
    return this.#servers.nodeUuid(name);
  }
}
