import { isAbsolute } from "node:path";
import {
  type AttachedVolume,
  type AvailableResource,
  type ConfirmMigrationOptions,
  type DestroyOptions,
  type DriverContext,
  type DriverOperationOptions,
  type FinishMigrationOptions,
  type FinishRevertOptions,
  type GuestDiagnostics,
  type GuestInfo,
  type GuestVolume,
  type Instance,
  InstanceNotRunning,
  InvalidConfiguration,
  type LiveMigrateData,
  type LiveMigrationCheckOptions,
  type LiveMigrationOptions,
  type MigrateDiskOptions,
  type Migration,
  type PowerOnOptions,
  type PreLiveMigrationOptions,
  type ProviderTree,
  type RescueOptions,
  type ReshapeAllocations,
  type RollbackAtDestinationOptions,
  type SharedStorageToken,
  type SnapshotOptions,
  type SpawnOptions,
  type VirtDriver,
  type VolumeConnector,
} from "../../src/virt/index.js";
import { ColdMoves } from "./cold-moves.js";
import { compileFakeLibvirtConfig, type FakeLibvirtConfig } from "./config.js";
import { ConsoleLog } from "./console-log.js";
import { powerStateOf } from "./domain.js";
import { DomainStore } from "./domain-store.js";
import { DomainWatcher } from "./domain-watcher.js";
import { Fence } from "./fence.js";
import { Guests, type HypervisorParts } from "./guests.js";
import { CPU_MODELS, type CpuModel, parseCpuSet } from "./host-cpu.js";
import { DeviceAssigner, parseDevices } from "./host-devices.js";
import { folderOfConnection, HypervisorFolder, OwnNode } from "./hypervisor.js";
import { InstanceFiles, storeStandIn } from "./instance-files.js";
import { forget, LiveChecks } from "./live-migration-destination.js";
import { LiveMoves } from "./live-moves.js";
import { active, assertSupportedImage, domainName } from "./new-domain.js";
import { ProviderTreeEditor } from "./provider-tree-editor.js";
import { availableResource, CAPABILITIES, GuestReports } from "./reports.js";
import { Rescue } from "./rescue.js";
import { Volumes } from "./volumes.js";

type Options = DriverOperationOptions;

/**
 * Guests as domain XML and sparse disk files in a folder, which outlive the agent (spec 8.8). The folder is the only
 * source of truth, and several agents may use the same one. A guest is created in the order disks, state, XML and
 * removed in the reverse order. If an agent is killed in between, the guest is either complete and in the desired
 * state, or absent.
 */
export class FakeLibvirtDriver implements VirtDriver {
  readonly capabilities = CAPABILITIES;
  readonly #context: DriverContext;
  readonly #config: FakeLibvirtConfig;
  readonly #folder: HypervisorFolder;
  readonly #fence: Fence;
  readonly #cpu: CpuModel;
  readonly #store: DomainStore;
  readonly #files: InstanceFiles;
  readonly #watcher: DomainWatcher;
  readonly #devices: DeviceAssigner;
  readonly #guests: Guests;
  readonly #coldMoves: ColdMoves;
  readonly #liveChecks: LiveChecks;
  readonly #liveMoves: LiveMoves;
  readonly #rescue: Rescue;
  readonly #volumes: Volumes;
  readonly #reports: GuestReports;
  readonly #tree: ProviderTreeEditor;
  readonly #node: OwnNode;

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
    this.#node = new OwnNode(this.#folder, config, context);
    this.#fence = new Fence(this.#folder, context);
    const { clock, logger } = context;
    this.#store = new DomainStore(this.#folder, { files: this.#fence.guests, clock, logger });
    const place = config.instancesPath === null ? this.#folder : { instances: config.instancesPath };
    this.#files = new InstanceFiles(place, this.#fence.disks);
    this.#watcher = new DomainWatcher(this.#folder, this.#store, config.stopEventDelay * 1000, context);
    this.#devices = new DeviceAssigner(devices);
    const parts: HypervisorParts = {
      context,
      config,
      folder: this.#folder,
      store: this.#store,
      files: this.#files,
      watcher: this.#watcher,
      devices: this.#devices,
      fence: this.#fence,
      console: new ConsoleLog(this.#files, { files: this.#fence.disks, clock, logger }),
    };
    this.#guests = new Guests(parts);
    this.#coldMoves = new ColdMoves(parts, this.#guests);
    this.#liveChecks = new LiveChecks(parts, this.#guests, this.#cpu);
    this.#liveMoves = new LiveMoves(parts, this.#guests);
    this.#rescue = new Rescue(parts, this.#guests);
    this.#volumes = new Volumes(parts, this.#guests);
    this.#reports = new GuestReports(parts, this.#guests);
    this.#tree = new ProviderTreeEditor({
      config,
      inventory: context.inventory,
      cpu: this.#cpu,
      devices,
      dedicatedCpus: dedicated,
      random: context.random,
      store: this.#store,
    });
  }

  async initHost(options?: Options): Promise<void> {
    const { files } = this.#context;
    const hostname = await this.#node.find();
    // Raised before anything is read: all earlier actions of the previous agent are visible then, and it can do nothing
    // more.
    if (options?.epoch !== undefined) {
      await this.#fence.raise(options.epoch);
    }
    await files.makeFolder(this.#folder.domains);
    await files.makeFolder(this.#folder.states);
    await this.#watcher.start();
    this.#node.connected(hostname);
  }

  async cleanupHost(): Promise<void> {
    this.#watcher.stop();
  }

  async listInstanceUuids(): Promise<readonly string[]> {
    this.#node.name();
    return this.#store.uuids();
  }

  async getAvailableNodes(): Promise<readonly string[]> {
    return [this.#node.name()];
  }

  async getAvailableResource(node: string): Promise<AvailableResource> {
    const hostname = this.#node.known(node);
    await this.#node.warnOfRename();
    await this.#watcher.glance();
    return availableResource(hostname, this.#config, this.#cpu, await this.#store.all());
  }

  async updateProviderTree(
    tree: ProviderTree,
    node: string,
    options?: Options & { readonly allocations?: ReshapeAllocations },
  ): Promise<void> {
    this.#node.known(node);
    await this.#tree.update(tree, node, options?.allocations);
    this.#devices.learn(tree, node, this.#tree.isNested(tree, node));
  }

  getHostIpAddr(): string {
    return this.#context.myIp;
  }

  async getInfo(instance: Instance): Promise<GuestInfo> {
    return { state: powerStateOf(await this.#guests.state(instance)), internalId: domainName(instance) };
  }

  async instanceExists({ uuid }: Instance): Promise<boolean> {
    return this.#store.exists(uuid);
  }

  async spawn(instance: Instance, options: SpawnOptions): Promise<void> {
    assertSupportedImage(options.image);
    await this.#watcher.own(instance.uuid, () => this.#guests.create(instance, options));
  }

  /** Removes the leftovers of an interrupted spawn, unless the guest exists. */
  async failedSpawnCleanup({ uuid }: Instance): Promise<void> {
    await this.#watcher.own(uuid, async () => {
      if (await this.#store.exists(uuid)) {
        return;
      }
      await this.#store.clearState(uuid);
      await this.#files.remove(uuid);
    });
  }

  async destroy({ uuid }: Instance, { destroyDisks, signal }: DestroyOptions): Promise<void> {
    await this.#watcher.own(uuid, async () => {
      if (await this.#store.exists(uuid)) {
        await this.#guests.take(this.#config.delayDestroy, signal);
      }
      await this.#store.undefine(uuid);
      await forget(uuid, { fence: this.#fence, folder: this.#folder });
      if (destroyDisks) {
        await this.#files.remove(uuid);
      }
    });
  }

  powerOff(instance: Instance, options?: Options): Promise<void> {
    return this.#guests.change(instance, this.#config.delayPowerOff, options, () => "shutoff");
  }

  powerOn(instance: Instance, options?: PowerOnOptions): Promise<void> {
    return this.#guests.powerOn(instance, options);
  }

  async reboot(instance: Instance, type: "SOFT" | "HARD", options?: PowerOnOptions): Promise<void> {
    return type === "HARD" ? this.#guests.hardReboot(instance, options) : this.#guests.softReboot(instance, options);
  }

  pause(instance: Instance, options?: Options): Promise<void> {
    return this.#guests.change(instance, this.#config.delayPause, options, active("paused", instance));
  }

  unpause(instance: Instance, options?: Options): Promise<void> {
    return this.#guests.change(instance, this.#config.delayUnpause, options, active("running", instance));
  }

  suspend(instance: Instance, options?: Options): Promise<void> {
    return this.#guests.change(instance, this.#config.delaySuspend, options, active("suspended", instance));
  }

  resume(instance: Instance, options?: Options): Promise<void> {
    return this.#guests.change(instance, this.#config.delayResume, options, () => "running");
  }

  rescue(instance: Instance, options: RescueOptions): Promise<void> {
    return this.#rescue.rescue(instance, options);
  }

  unrescue(instance: Instance, options?: Options): Promise<void> {
    return this.#rescue.unrescue(instance, options);
  }

  setAdminPassword(instance: Instance): Promise<void> {
    return this.#guests.setAdminPassword(instance);
  }

  /** Takes the configured time and passes the stages of a snapshot, but there is no disk content to upload. */
  async snapshot(
    instance: Instance,
    _imageId: string,
    { updateTaskState, upload, signal }: SnapshotOptions,
  ): Promise<void> {
    if (!(await this.#store.exists(instance.uuid))) {
      throw new InstanceNotRunning(
        `guest ${domainName(instance)} (${instance.uuid}) is not on hypervisor ${this.#folder.path}`,
      );
    }
    await updateTaskState("image_pending_upload");
    await this.#guests.take(this.#config.delaySnapshot, signal);
    await updateTaskState("image_uploading");
    await storeStandIn(instance, upload);
  }

  async getVolumeConnector(): Promise<VolumeConnector> {
    return this.#volumes.connector();
  }

  attachVolume(instance: Instance, volume: GuestVolume): Promise<void> {
    return this.#volumes.attach(instance, volume);
  }

  detachVolume(instance: Instance, volume: GuestVolume): Promise<void> {
    return this.#volumes.detach(instance, volume);
  }

  swapVolume(instance: Instance, volumes: { readonly old: GuestVolume; readonly new: GuestVolume }): Promise<void> {
    return this.#volumes.swap(instance, volumes);
  }

  extendVolume(instance: Instance, volume: GuestVolume): Promise<void> {
    return this.#volumes.extend(instance, volume);
  }

  listVolumes(instance: Instance): Promise<readonly AttachedVolume[]> {
    return this.#volumes.list(instance);
  }

  getHostUptime(): Promise<string> {
    return this.#reports.uptime();
  }

  getConsoleOutput(instance: Instance): Promise<string> {
    return this.#reports.console(instance);
  }

  getDiagnostics(instance: Instance): Promise<Readonly<Record<string, number>>> {
    return this.#reports.diagnostics(instance);
  }

  getInstanceDiagnostics(instance: Instance): Promise<GuestDiagnostics> {
    return this.#reports.instanceDiagnostics(instance);
  }

  async resumeStateOnHostBoot(instance: Instance, options?: PowerOnOptions): Promise<void> {
    const state = await this.#store.state(instance.uuid);
    if (state === undefined || state === "shutoff" || state === "crashed") {
      await this.#guests.hardReboot(instance, options);
    }
  }

  migrateDiskAndPowerOff(instance: Instance, options: MigrateDiskOptions): Promise<string> {
    return this.#coldMoves.migrateDisk(instance, options);
  }

  finishMigration(
    _migration: Migration,
    instance: Instance,
    diskInfo: string,
    options: FinishMigrationOptions,
  ): Promise<void> {
    return this.#coldMoves.finish(instance, diskInfo, options);
  }

  confirmMigration(migration: Migration, instance: Instance, options: ConfirmMigrationOptions): Promise<void> {
    return this.#coldMoves.confirm(migration, instance, options);
  }

  finishRevertMigration(instance: Instance, options: FinishRevertOptions): Promise<void> {
    return this.#coldMoves.revert(instance, options);
  }

  checkCanLiveMigrateDestination(instance: Instance, options: LiveMigrationCheckOptions): Promise<LiveMigrateData> {
    return this.#liveChecks.atDestination(instance, options);
  }

  checkCanLiveMigrateSource(instance: Instance, data: LiveMigrateData): Promise<LiveMigrateData> {
    return this.#liveChecks.atSource(instance, data);
  }

  cleanupLiveMigrationDestinationCheck(data: LiveMigrateData): Promise<void> {
    return this.#liveChecks.cleanup(data);
  }

  async preLiveMigration(instance: Instance, options: PreLiveMigrationOptions): Promise<LiveMigrateData> {
    return this.#liveMoves.prepare(instance, options, await this.#liveChecks.destination());
  }

  liveMigration(instance: Instance, _dest: string, options: LiveMigrationOptions): Promise<void> {
    return this.#liveMoves.migrate(instance, options);
  }

  async liveMigrationForceComplete(instance: Instance): Promise<void> {
    this.#liveMoves.forceComplete(instance);
  }

  liveMigrationAbort(instance: Instance): Promise<void> {
    return this.#liveMoves.abort(instance);
  }

  /** @throws {GuestNotFound} the guest did not arrive. */
  async postLiveMigrationAtDestination(instance: Instance): Promise<void> {
    await this.#liveMoves.arrive(instance);
  }

  rollbackLiveMigrationAtDestination(instance: Instance, options: RollbackAtDestinationOptions): Promise<void> {
    return this.#liveMoves.cleanup(instance, options);
  }

  cleanup(instance: Instance, options: DestroyOptions): Promise<void> {
    return this.#liveMoves.cleanup(instance, options);
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
    if (typeof instanceUuid === "string" && typeof file === "string") {
      await this.#files.removeToken(instanceUuid, file);
    }
  }
}
