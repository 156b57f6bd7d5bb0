import {
  type AvailableResource,
  type Capabilities,
  type ConfirmMigrationOptions,
  type DestroyOptions,
  type DriverContext,
  type DriverOperationOptions,
  type FinishMigrationOptions,
  type FinishRevertOptions,
  type GuestInfo,
  type Instance,
  InvalidConfiguration,
  type LiveMigrateData,
  type LiveMigrationCheckOptions,
  type LiveMigrationOptions,
  type MigrateDiskOptions,
  type Migration,
  nodeInventory,
  type PreLiveMigrationOptions,
  type ProviderTree,
  type RescueOptions,
  type RollbackAtDestinationOptions,
  type SharedStorageToken,
  type SnapshotOptions,
  type SpawnOptions,
  type VirtDriver,
  VirtDriverNotReady,
} from "../../src/virt/index.js";
import { ColdMoves } from "./cold-moves.js";
import { compileQemuConfig } from "./config.js";
import { assertSupportedImage, Definitions, guestName } from "./definition.js";
import { Disks } from "./disks.js";
import { Guests, type HypervisorParts, powerStateOf } from "./guests.js";
import { availableResource, kvmWorks, readHostAttributes, versionNumber } from "./host-attributes.js";
import { Layout, LeaseCheck, nameOfHypervisor, UUID } from "./hypervisor-folder.js";
import { LiveChecks } from "./live-checks.js";
import { LiveMoves } from "./live-moves.js";
import { GuestLock, Monitors } from "./monitor.js";
import { Memory, Power, Rescue } from "./power-and-rescue.js";
import { Runs } from "./runs.js";
import { Snapshots } from "./snapshots.js";

type Options = DriverOperationOptions;

/** Properties of the hypervisor, determined once by {@link QemuDriver.initHost}. */
interface Hypervisor {
  readonly hostname: string;
  readonly version: number;
  readonly kvm: boolean;
}

/**
 * Guests as QEMU processes of this machine, which outlive the agent (spec 8.11). The only sources of truth are a folder
 * with definitions and disks, and the processes as reported by the kernel and QEMU's monitors.
 */
export class QemuDriver implements VirtDriver {
  readonly capabilities: Capabilities = {
    supportsEvacuate: true,
    supportsImageTypeRaw: true,
    supportsImageTypeQcow2: true,
  };
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;
  readonly #power: Power;
  readonly #memory: Memory;
  readonly #snapshots: Snapshots;
  readonly #rescue: Rescue;
  readonly #coldMoves: ColdMoves;
  readonly #liveChecks: LiveChecks;
  readonly #liveMoves: LiveMoves;
  /** Undefined until {@link initHost}. */
  #hypervisor: Hypervisor | undefined;

  /** @throws {InvalidConfiguration} */
  constructor(context: DriverContext) {
    const config = compileQemuConfig(context.config);
    const layout = new Layout(config);
    const lease = new LeaseCheck(layout.epochs, context);
    const monitors = new Monitors(context.sockets, context.timers);
    const runs = new Runs({ context, config, layout, lease, monitors });
    const disks = new Disks({ context, config, layout, lease });
    const definitions = new Definitions(layout, context.files);
    const lock = new GuestLock();
    this.#parts = { context, config, layout, definitions, disks, runs, monitors, lease, lock };
    this.#guests = new Guests(this.#parts);
    this.#power = new Power(this.#parts, this.#guests);
    this.#memory = new Memory(this.#parts, this.#guests);
    this.#snapshots = new Snapshots(this.#parts, this.#guests);
    this.#rescue = new Rescue(this.#parts, this.#guests);
    this.#coldMoves = new ColdMoves(this.#parts, this.#guests);
    this.#liveChecks = new LiveChecks(this.#parts, this.#guests);
    this.#liveMoves = new LiveMoves(this.#parts, this.#guests);
  }

  async initHost(options?: Options): Promise<void> {
    const { context, config, layout, lease, runs } = this.#parts;
    const { stdout, stderr } = await context.processes.run({ argv: [config.binary, "--version"] });
    const version = versionNumber(stdout);
    if (version === undefined) {
      throw new InvalidConfiguration(`[qemu] binary: ${config.binary} is not QEMU; it printed ${stdout || stderr}`);
    }
    const hostname = await nameOfHypervisor(layout.identity, context.host, context.files);
    if (options?.epoch !== undefined) {
      await lease.raise(options.epoch);
    }
    for (const folder of [layout.guests, layout.runs, layout.instances, layout.images]) {
      await context.files.makeFolder(folder);
    }
    const kvm = await kvmWorks(config, context);
    runs.useKvm(kvm);
    this.#hypervisor = { hostname, version, kvm };
  }

  /** Does nothing: each use of a monitor closes it, and guests are not children of this process. */
  async cleanupHost(): Promise<void> {}

  async listInstanceUuids(): Promise<readonly string[]> {
    this.#ready();
    return this.#parts.definitions.uuids();
  }

  async getAvailableNodes(): Promise<readonly string[]> {
    return [this.#ready().hostname];
  }

  async getAvailableResource(node: string): Promise<AvailableResource> {
    const { hostname, ...what } = this.#known(node);
    const { config, definitions } = this.#parts;
    return availableResource(hostname, await this.#readHostAttributes(), await definitions.all(), { ...what, config });
  }

  async updateProviderTree(tree: ProviderTree, node: string): Promise<void> {
    this.#known(node);
    const { inventory } = this.#parts.context;
    tree.updateInventory(node, nodeInventory(inventory, tree.data(node).inventory, await this.#readHostAttributes()));
  }

  getHostIpAddr(): string {
    return this.#parts.context.myIp;
  }

  async getInfo(instance: Instance): Promise<GuestInfo> {
    const arriving = (await this.#guests.find(instance.uuid)) === "arriving";
    return {
      state: powerStateOf(arriving ? "arriving" : await this.#guests.state(instance)),
      internalId: guestName(instance),
    };
  }

  async instanceExists({ uuid }: Instance): Promise<boolean> {
    return this.#parts.definitions.exists(uuid);
  }

  async spawn(instance: Instance, options: SpawnOptions): Promise<void> {
    assertSupportedImage(options.image);
    await this.#own(instance, () => this.#guests.create(instance, options));
  }

  /** Removes the leftovers of an interrupted spawn, unless the guest exists. */
  async failedSpawnCleanup(instance: Instance): Promise<void> {
    await this.#own(instance, async () => {
      if (!(await this.#parts.definitions.exists(instance.uuid))) {
        await this.#guests.remove(instance.uuid, true);
      }
    });
  }

  destroy(instance: Instance, { destroyDisks, signal }: DestroyOptions): Promise<void> {
    return this.#own(instance, () => this.#guests.remove(instance.uuid, destroyDisks, signal));
  }

  powerOff(instance: Instance, options?: Options & { readonly timeout?: number }): Promise<void> {
    return this.#own(instance, () => this.#power.off(instance, options?.timeout ?? 0, options?.signal));
  }

  powerOn(instance: Instance, options?: Options): Promise<void> {
    return this.#own(instance, () => this.#power.on(instance, options?.signal));
  }

  reboot(instance: Instance, type: "SOFT" | "HARD", options?: Options): Promise<void> {
    return this.#own(instance, () => this.#power.reboot(instance, type, options?.signal));
  }

  pause(instance: Instance, options?: Options): Promise<void> {
    return this.#own(instance, () => this.#power.pause(instance, options?.signal));
  }

  unpause(instance: Instance, options?: Options): Promise<void> {
    return this.#own(instance, () => this.#power.unpause(instance, options?.signal));
  }

  suspend(instance: Instance, options?: Options): Promise<void> {
    return this.#own(instance, () => this.#memory.suspend(instance, options?.signal));
  }

  resume(instance: Instance, options?: Options): Promise<void> {
    return this.#own(instance, () => this.#memory.resume(instance, options?.signal));
  }

  rescue(instance: Instance, options: RescueOptions): Promise<void> {
    return this.#own(instance, () => this.#rescue.rescue(instance, options));
  }

  unrescue(instance: Instance, options?: Options): Promise<void> {
    return this.#own(instance, () => this.#rescue.unrescue(instance, options));
  }

  snapshot(instance: Instance, _imageId: string, options: SnapshotOptions): Promise<void> {
    return this.#own(instance, () => this.#snapshots.take(instance, options));
  }

  async getHostUptime(): Promise<string> {
    return (await this.#parts.context.processes.run({ argv: ["uptime"], env: { LANG: "C" } })).stdout;
  }

  getConsoleOutput(instance: Instance): Promise<string> {
    return this.#guests.consoleOutput(instance);
  }

  resumeStateOnHostBoot(instance: Instance, options?: Options): Promise<void> {
    return this.#own(instance, () => this.#power.resumeOnBoot(instance, options?.signal));
  }

  migrateDiskAndPowerOff(instance: Instance, options: MigrateDiskOptions): Promise<string> {
    return this.#own(instance, () => this.#coldMoves.migrateDisk(instance, options));
  }

  finishMigration(_: Migration, instance: Instance, disks: string, options: FinishMigrationOptions): Promise<void> {
    return this.#own(instance, () => this.#coldMoves.finish(instance, disks, options));
  }

  confirmMigration(migration: Migration, instance: Instance, options: ConfirmMigrationOptions): Promise<void> {
    return this.#own(instance, () => this.#coldMoves.confirm(migration, instance, options));
  }

  finishRevertMigration(instance: Instance, options: FinishRevertOptions): Promise<void> {
    return this.#own(instance, () => this.#coldMoves.revert(instance, options));
  }

  async checkCanLiveMigrateDestination(
    instance: Instance,
    options: LiveMigrationCheckOptions,
  ): Promise<LiveMigrateData> {
    const { diskFreeGb } = await this.#readHostAttributes();
    return this.#liveChecks.atDestination(instance, options, { kvm: this.#ready().kvm, diskFreeGb });
  }

  checkCanLiveMigrateSource(instance: Instance, data: LiveMigrateData): Promise<LiveMigrateData> {
    return this.#liveChecks.atSource(instance, data, this.#ready().kvm);
  }

  cleanupLiveMigrationDestinationCheck(data: LiveMigrateData): Promise<void> {
    return this.#liveChecks.cleanup(data);
  }

  preLiveMigration(instance: Instance, options: PreLiveMigrationOptions): Promise<LiveMigrateData> {
    return this.#own(instance, () => this.#liveMoves.prepare(instance, options));
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

  postLiveMigrationAtDestination(instance: Instance): Promise<void> {
    return this.#own(instance, () => this.#liveMoves.arrived(instance));
  }

  rollbackLiveMigrationAtDestination(instance: Instance, options: RollbackAtDestinationOptions): Promise<void> {
    return this.#own(instance, () => this.#liveMoves.cleanup(instance, options));
  }

  cleanup(instance: Instance, options: DestroyOptions): Promise<void> {
    return this.#own(instance, () => this.#liveMoves.cleanup(instance, options));
  }

  async instanceOnDisk({ uuid }: Instance): Promise<boolean> {
    return this.#parts.disks.hasRoot(uuid);
  }

  async deleteInstanceFiles({ uuid }: Instance): Promise<boolean> {
    return this.#parts.disks.remove(uuid);
  }

  async checkInstanceSharedStorageLocal({ uuid }: Instance): Promise<SharedStorageToken | null> {
    const { disks, layout, context } = this.#parts;
    if (!(await disks.exists(uuid))) {
      return null;
    }
    return { instanceUuid: uuid, file: await disks.makeToken(layout.instance(uuid), context.random) };
  }

  async checkInstanceSharedStorageRemote({ instanceUuid, file }: SharedStorageToken): Promise<boolean> {
    const { disks, layout } = this.#parts;
    return isUuid(instanceUuid) && disks.seesToken(layout.instance(instanceUuid), file);
  }

  async checkInstanceSharedStorageCleanup({ instanceUuid, file }: SharedStorageToken): Promise<void> {
    const { disks, layout } = this.#parts;
    if (isUuid(instanceUuid)) {
      await disks.removeToken(layout.instance(instanceUuid), file);
    }
  }

  #own<T>({ uuid }: Instance, work: () => Promise<T>): Promise<T> {
    return this.#parts.lock.own(uuid, work);
  }

  #readHostAttributes() {
    const { context, config, layout } = this.#parts;
    return readHostAttributes(layout.instances, config, context);
  }

  /** @throws {VirtDriverNotReady} */
  #ready(): Hypervisor {
    if (this.#hypervisor === undefined) {
      throw new VirtDriverNotReady("qemu is not initialized yet: call initHost first");
    }
    return this.#hypervisor;
  }

  #known(node: string): Hypervisor {
    const hypervisor = this.#ready();
    if (node === hypervisor.hostname) {
      return hypervisor;
    }
    throw new InvalidConfiguration(`qemu has one node, ${hypervisor.hostname}; found ${node}`);
  }
}

const isUuid = (value: unknown): value is string => typeof value === "string" && UUID.test(value);
