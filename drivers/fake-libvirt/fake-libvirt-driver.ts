import { isAbsolute } from "node:path";
import {
  type AvailableResource,
  type Capabilities,
  type DestroyOptions,
  type DriverContext,
  type DriverOperationOptions,
  type GuestInfo,
  GuestNotFound,
  type Instance,
  InstanceExists,
  InstanceNotRunning,
  InvalidConfiguration,
  type ProviderTree,
  type ReshapeAllocations,
  type SharedStorageToken,
  type SpawnOptions,
  type VirtDriver,
  VirtDriverNotReady,
} from "../../src/virt/index.js";
import { availableResource } from "./available-resource.js";
import { compileFakeLibvirtConfig, type FakeLibvirtConfig } from "./config.js";
import { folderOfConnection } from "./connection-uri.js";
import { CPU_MODELS, type CpuModel } from "./cpu-models.js";
import { parseCpuSet } from "./cpu-set.js";
import { type DomainState, powerStateOf } from "./domain.js";
import { DomainStore } from "./domain-store.js";
import { DomainWatcher } from "./domain-watcher.js";
import { DeviceAssigner, parseDevices } from "./host-devices.js";
import { HypervisorFolder, openHypervisor, readIdentity } from "./hypervisor.js";
import { InstanceFiles } from "./instance-files.js";
import { domainName, newDomain, refuseImage, wantedDisks } from "./new-domain.js";
import { ProviderTreeEditor } from "./provider-tree-editor.js";

type Options = DriverOperationOptions;

/**
 * Guests as domain XML and sparse disk files in a folder, which outlive the agent (spec 8.8). All truth is in the
 * folder, so several agents may be pointed at one. A guest is made in the order disks, XML, state, and removed in the
 * opposite one: whoever is killed in between leaves a guest that is whole, or none.
 */
export class FakeLibvirtDriver implements VirtDriver {
  readonly capabilities: Capabilities = {
    supportsEvacuate: true,
    supportsPcpus: true,
    supportsAttachInterface: true,
    supportsTaggedAttachInterface: true,
    supportsDeviceTagging: true,
    supportsTaggedAttachVolume: true,
    supportsExtendVolume: true,
    supportsMultiattach: true,
    supportsTrustedCerts: true,
    supportsAccelerators: true,
    supportsImageTypeRaw: true,
    supportsImageTypeQcow2: true,
  };
  readonly #context: DriverContext;
  readonly #config: FakeLibvirtConfig;
  readonly #folder: HypervisorFolder;
  readonly #cpu: CpuModel;
  readonly #store: DomainStore;
  readonly #files: InstanceFiles;
  readonly #watcher: DomainWatcher;
  readonly #devices: DeviceAssigner;
  readonly #tree: ProviderTreeEditor;
  /** Read once; undefined until {@link initHost}. */
  #hostname: string | undefined;
  #warnedOfName: string | undefined;

  /** @throws {InvalidConfiguration} */
  constructor(context: DriverContext) {
    const config = compileFakeLibvirtConfig(context.config);
    if (config.instancesPath !== null && !isAbsolute(config.instancesPath)) {
      throw new InvalidConfiguration(
        `[fake_libvirt] instances_path: found ${config.instancesPath}, expected an absolute folder`,
      );
    }
    const devices = parseDevices(config.devices);
    const dedicated =
      config.cpuDedicatedSet === null
        ? 0
        : parseCpuSet(config.cpuDedicatedSet, "[fake_libvirt] cpu_dedicated_set", config.vcpus).size;
    this.#context = context;
    this.#config = config;
    this.#cpu = CPU_MODELS[config.cpuModel] ?? { arch: "x86_64", vendor: "unknown", features: [] };
    this.#folder = new HypervisorFolder(folderOfConnection(config.connectionUri));
    this.#store = new DomainStore(this.#folder, context);
    this.#files = new InstanceFiles(config.instancesPath ?? this.#folder.instances, context.files);
    this.#watcher = new DomainWatcher(this.#folder, this.#store, config.stopEventDelay * 1000, context);
    this.#devices = new DeviceAssigner(devices);
    this.#tree = new ProviderTreeEditor({
      config,
      inventory: context.inventory,
      cpu: this.#cpu,
      devices,
      dedicatedCpus: dedicated,
      random: context.random,
      assigned: async (uuid) => (await this.#store.get(uuid))?.devices ?? [],
    });
  }

  async initHost(): Promise<void> {
    const { files, host, logger } = this.#context;
    const wanted = this.#config.hypervisorHostname ?? host;
    const { hostname } = await openHypervisor(this.#folder, wanted, this.#context);
    if (this.#config.hypervisorHostname !== null && hostname !== wanted) {
      logger.warn(
        `[fake_libvirt] hypervisor_hostname is ${wanted}, but the hypervisor is ${hostname} since it was first used; ` +
          `the option is ignored. To rename it, edit ${this.#folder.identityFile} while no agent runs`,
      );
    }
    await files.makeFolder(this.#folder.domains);
    await files.makeFolder(this.#folder.states);
    await this.#watcher.start();
    this.#hostname = hostname;
  }

  async cleanupHost(): Promise<void> {
    this.#watcher.stop();
  }

  async listInstanceUuids(): Promise<readonly string[]> {
    this.#ready();
    return this.#store.uuids();
  }

  async getAvailableNodes(): Promise<readonly string[]> {
    return [this.#ready()];
  }

  async getAvailableResource(node: string): Promise<AvailableResource> {
    const hostname = this.#known(node);
    await this.#warnOfRename(hostname);
    await this.#watcher.glance();
    return availableResource(hostname, this.#config, this.#cpu, await this.#store.all());
  }

  async updateProviderTree(
    tree: ProviderTree,
    node: string,
    options?: Options & { readonly allocations?: ReshapeAllocations },
  ): Promise<void> {
    this.#known(node);
    await this.#tree.update(tree, node, options?.allocations);
    this.#devices.learn(tree, node, this.#tree.isNested(tree, node));
  }

  getHostIpAddr(): string {
    return this.#context.myIp;
  }

  async getInfo(instance: Instance): Promise<GuestInfo> {
    return { state: powerStateOf(await this.#state(instance)), internalId: domainName(instance) };
  }

  async instanceExists({ uuid }: Instance): Promise<boolean> {
    return this.#store.exists(uuid);
  }

  async spawn(instance: Instance, options: SpawnOptions): Promise<void> {
    refuseImage(options.image);
    await this.#watcher.own(instance.uuid, () => this.#create(instance, options));
  }

  async destroy({ uuid }: Instance, { destroyDisks, signal }: DestroyOptions): Promise<void> {
    await this.#watcher.own(uuid, async () => {
      if (await this.#store.exists(uuid)) await this.#take(this.#config.delayDestroy, signal);
      await this.#store.undefine(uuid);
      if (destroyDisks) await this.#files.remove(uuid);
    });
  }

  powerOff(instance: Instance, options?: Options): Promise<void> {
    return this.#change(instance, this.#config.delayPowerOff, options, () => "shutoff");
  }

  powerOn(instance: Instance, options?: Options): Promise<void> {
    return this.#change(instance, this.#config.delayPowerOn, options, () => "running");
  }

  async reboot(instance: Instance, type: "SOFT" | "HARD", options?: Options): Promise<void> {
    if (type === "HARD") return this.#hardReboot(instance, options);
    return this.#change(instance, this.#config.delayReboot, options, () => "running");
  }

  pause(instance: Instance, options?: Options): Promise<void> {
    return this.#change(instance, this.#config.delayPause, options, active("paused", instance));
  }

  unpause(instance: Instance, options?: Options): Promise<void> {
    return this.#change(instance, this.#config.delayUnpause, options, active("running", instance));
  }

  suspend(instance: Instance, options?: Options): Promise<void> {
    return this.#change(instance, this.#config.delaySuspend, options, active("suspended", instance));
  }

  resume(instance: Instance, options?: Options): Promise<void> {
    return this.#change(instance, this.#config.delayResume, options, () => "running");
  }

  async resumeStateOnHostBoot(instance: Instance, options?: Options): Promise<void> {
    const state = await this.#store.state(instance.uuid);
    if (state === undefined || state === "shutoff" || state === "crashed") await this.#hardReboot(instance, options);
  }

  async instanceOnDisk({ uuid }: Instance): Promise<boolean> {
    return this.#files.hasDisk(uuid);
  }

  async deleteInstanceFiles({ uuid }: Instance): Promise<boolean> {
    return this.#files.remove(uuid);
  }

  async checkInstanceSharedStorageLocal({ uuid }: Instance): Promise<SharedStorageToken | null> {
    const file = await this.#files.makeToken(uuid, this.#context.random);
    return file === null ? null : { instanceUuid: uuid, file };
  }

  async checkInstanceSharedStorageRemote(token: SharedStorageToken): Promise<boolean> {
    const { instanceUuid, file } = token;
    return typeof instanceUuid === "string" && typeof file === "string" && this.#files.seesToken(instanceUuid, file);
  }

  async checkInstanceSharedStorageCleanup(token: SharedStorageToken): Promise<void> {
    const { instanceUuid, file } = token;
    if (typeof instanceUuid === "string" && typeof file === "string") await this.#files.removeToken(instanceUuid, file);
  }

  async #create(instance: Instance, { image, allocations, powerOn, signal }: SpawnOptions): Promise<void> {
    const { uuid } = instance;
    if (await this.#store.exists(uuid)) {
      throw new InstanceExists(`guest ${domainName(instance)} (${uuid}) is on hypervisor ${this.#hostname} already`);
    }
    // A killed destroy may have left it.
    await this.#store.clearState(uuid);
    const removeDisks = await this.#files.make(uuid, wantedDisks(instance, image.minDisk));
    try {
      await this.#take(this.#config.delaySpawn, signal);
      await this.#define(instance, allocations, image.minDisk);
      if (powerOn) await this.#store.setState(uuid, "running");
    } catch (error) {
      await this.#undoCreate(uuid, removeDisks);
      throw error;
    }
  }

  async #undoCreate(uuid: string, removeDisks: () => Promise<void>): Promise<void> {
    try {
      await this.#store.undefine(uuid);
      await removeDisks();
    } catch (error) {
      this.#context.logger.warn("what a failed spawn made cannot be removed", { instance: uuid, err: error });
    }
  }

  async #define(instance: Instance, allocations: SpawnOptions["allocations"], minDisk: number): Promise<void> {
    await this.#devices.assign(
      allocations,
      () => this.#store.all(),
      (devices) =>
        this.#store.define(
          newDomain({
            instance,
            disks: wantedDisks(instance, minDisk),
            files: this.#files,
            format: this.#config.imagesType === "raw" ? "raw" : "qcow2",
            devices,
            cpuModel: this.#config.cpuModel,
            now: this.#context.clock.now(),
          }),
        ),
    );
  }

  /** Makes the guest anew where it, its XML or its disks are missing. */
  async #hardReboot(instance: Instance, options?: Options): Promise<void> {
    const { uuid } = instance;
    await this.#watcher.own(uuid, async () => {
      await this.#take(this.#config.delayReboot, options?.signal);
      await this.#files.make(uuid, wantedDisks(instance));
      if (!(await this.#store.get(uuid))) await this.#define(instance, {}, 0);
      await this.#store.setState(uuid, "running");
    });
  }

  /** @throws {GuestNotFound} */
  async #change(
    instance: Instance,
    delay: number,
    options: Options | undefined,
    next: (state: DomainState) => DomainState,
  ): Promise<void> {
    await this.#watcher.own(instance.uuid, async () => {
      const wanted = next(await this.#state(instance));
      await this.#take(delay, options?.signal);
      // It may be gone, or stopped by somebody else, since the delay began.
      const before = await this.#state(instance);
      if (before !== wanted) await this.#store.setState(instance.uuid, next(before));
    });
  }

  /** @throws {GuestNotFound} */
  async #state(instance: Instance): Promise<DomainState> {
    const state = await this.#store.state(instance.uuid);
    if (state) return state;
    throw new GuestNotFound(
      `guest ${domainName(instance)} (${instance.uuid}) is not on hypervisor ${this.#hostname ?? this.#folder.path}`,
    );
  }

  async #take(seconds: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (seconds > 0) await this.#context.timers.sleep(seconds * 1000, signal);
  }

  async #warnOfRename(hostname: string): Promise<void> {
    const stored = (await readIdentity(this.#folder, this.#context.files))?.hostname;
    if (stored === hostname || stored === this.#warnedOfName) return;
    this.#warnedOfName = stored;
    this.#context.logger.warn(
      `${this.#folder.identityFile} says that the hypervisor is ${stored ?? "nobody"} now, but it was ${hostname} when ` +
        "this agent started; the agent keeps to the old name until it is restarted",
    );
  }

  /** @throws {VirtDriverNotReady} */
  #ready(): string {
    if (this.#hostname === undefined)
      throw new VirtDriverNotReady("fake-libvirt is not connected yet: initHost comes first");
    return this.#hostname;
  }

  #known(node: string): string {
    const hostname = this.#ready();
    if (node === hostname) return hostname;
    throw new InvalidConfiguration(`fake-libvirt has one node, ${hostname}; found ${node}`);
  }
}

/** For a guest that runs, paused or not. @throws {InstanceNotRunning} */
const active =
  (wanted: DomainState, instance: Instance) =>
  (state: DomainState): DomainState => {
    if (state === "running" || state === "paused" || state === wanted) return wanted;
    throw new InstanceNotRunning(`guest ${domainName(instance)} (${instance.uuid}) is ${state}, expected running`);
  };
