import { type Capabilities, completeCapabilities } from "./capabilities.js";
import type { DriverHostDeps } from "./context.js";
import type { DriverOperationOptions, ReshapeAllocations, VirtDriver } from "./driver.js";
import type { DriverCallOptions } from "./driver-call.js";
import type { DriverChecks } from "./driver-checks.js";
import { asDriverError, nostateWithoutGuest } from "./driver-error.js";
import { DriverInvoker, DriverMoves } from "./driver-invoker.js";
import type { DriverMethod } from "./driver-methods.js";
import type { LifecycleEvents, LifecycleListener } from "./driver-output.js";
import { ImageServiceNotFound } from "./errors.js";
import type { ProviderTree } from "./provider-tree.js";
import type {
  AvailableResource,
  BlockDeviceInfo,
  DestroyOptions,
  GuestDiagnostics,
  GuestInfo,
  Image,
  ImageMeta,
  ImageService,
  Instance,
  PowerState,
  RescueOptions,
  SharedStorageToken,
  SnapshotOptions,
  SpawnOptions,
  WithoutBytes,
} from "./types.js";

/** The Image service for one call of a driver. When the call ends, open transfers are aborted. */
class ScopedImages {
  readonly #service: ImageService | undefined;
  readonly #over = new AbortController();

  /** @param service undefined if this host has no Image service */
  constructor(service: ImageService | undefined) {
    this.#service = service;
  }

  with<O extends { readonly image: ImageMeta }>(options: O): Omit<O, "image"> & { readonly image: Image } {
    const { image } = options;
    return { ...options, image: { ...image, open: async () => this.#needed().open(image.id, this.#over.signal) } };
  }

  to<O extends object>(id: string, options: O): O & Pick<SnapshotOptions, "upload"> {
    const upload: SnapshotOptions["upload"] = async (bytes, about = {}) =>
      this.#needed().upload(id, bytes, about, this.#over.signal);
    return { ...options, upload };
  }

  end(): void {
    this.#over.abort(new Error("the driver's call has ended"));
  }

  #needed(): ImageService {
    if (this.#service) {
      return this.#service;
    }
    throw new ImageServiceNotFound("this host has no Image service");
  }
}

type Options = DriverOperationOptions;

type RefreshOptions = Options & { readonly refresh?: boolean };

export type DriverHostOptions = DriverCallOptions;

/** Maximum length of console output in characters, as in Nova. */
const MAX_CONSOLE_CHARS = 100 * 1024;

/**
 * The only interface through which the core calls a driver. Offers every method of the contract, with the contract's default
 * for methods that the driver does not implement. Handles drivers that throw, hang or return invalid values: the result is a
 * checked value, an error of the contract, {@link VirtDriverMisbehaved} or {@link VirtDriverTimeout}.
 */
export class DriverHost {
  readonly name: string;
  readonly capabilities: Readonly<Required<Capabilities>>;
  readonly rebalancesNodes: boolean;
  readonly moves: DriverMoves;
  readonly #driver: VirtDriver;
  readonly #invoker: DriverInvoker;
  readonly #checks: DriverChecks;
  readonly #events: LifecycleEvents;
  readonly #context: Pick<DriverHostDeps, "localNodeUuid" | "images">;
  #cleanedUp = false;

  constructor(
    name: string,
    driver: VirtDriver,
    events: LifecycleEvents,
    context: DriverHostDeps,
    options: DriverHostOptions,
  ) {
    this.#invoker = new DriverInvoker(name, driver, context, options);
    this.moves = new DriverMoves(this.#invoker);
    this.#checks = this.#invoker.checks;
    this.name = name;
    this.capabilities = completeCapabilities(name, driver.capabilities);
    this.rebalancesNodes = driver.rebalancesNodes === true;
    this.#driver = driver;
    this.#events = events;
    this.#context = context;
  }

  supports(method: DriverMethod): boolean {
    return this.#invoker.supports(method);
  }

  /** Descriptions of the pending calls. */
  get waitedFor(): ReadonlyMap<object, string> {
    return this.#invoker.waitedFor;
  }

  /** Passes the request's id to the driver and the log in calls about this instance, until `work` settles. */
  onBehalf<T>(instanceUuid: string, requestId: string, work: () => Promise<T>): Promise<T> {
    return this.#invoker.onBehalf(instanceUuid, requestId, work);
  }

  /** Replaces the listener of guests' events. There is one; null drops events. */
  setLifecycleListener(listener: LifecycleListener | null): void {
    this.#events.setListener(listener);
  }

  initHost(options?: Options): Promise<void> {
    return this.#invoker.run("initHost", options);
  }

  /** Calls the driver's method once; further calls do nothing. Afterwards no events are delivered. */
  async cleanupHost(options?: Options): Promise<void> {
    if (this.#cleanedUp) {
      return;
    }
    this.#cleanedUp = true;
    this.#events.setListener(null);
    await this.#invoker.run("cleanupHost", options);
  }

  async processInstancesAtStartup(instances: readonly Instance[], options?: Options): Promise<readonly Instance[]> {
    if (!this.#invoker.supports("processInstancesAtStartup")) {
      return instances;
    }
    const check = (method: DriverMethod, value: unknown) => this.#checks.someOf(method, value, instances);
    return this.#invoker.ask("processInstancesAtStartup", check, instances, options);
  }

  listInstanceUuids(options?: Options): Promise<readonly string[]> {
    return this.#invoker.ask("listInstanceUuids", this.#checks.uuids, options);
  }

  getAvailableNodes(options?: RefreshOptions): Promise<readonly string[]> {
    return this.#invoker.ask("getAvailableNodes", this.#checks.names, options);
  }

  /**
   * Returns whether the node is listed, if necessary after a refresh (spec 8.1 `node_is_available`).
   * @throws {VirtDriverNotReady}
   */
  async nodeIsAvailable(node: string, options?: Options): Promise<boolean> {
    if ((await this.getAvailableNodes(options)).includes(node)) {
      return true;
    }
    return (await this.getAvailableNodes({ ...options, refresh: true })).includes(node);
  }

  async getNodenamesByUuid(options?: RefreshOptions): Promise<ReadonlyMap<string, string>> {
    if (this.#invoker.supports("getNodenamesByUuid")) {
      return this.#invoker.ask("getNodenamesByUuid", this.#checks.namesByUuid, options);
    }
    const [first] = await this.getAvailableNodes(options);
    return new Map(first === undefined ? [] : [[await this.#context.localNodeUuid(), first]]);
  }

  isNodeDeleted(node: string, options?: Options): Promise<boolean> {
    return this.#invoker.askOr(false, "isNodeDeleted", this.#checks.boolean, node, options);
  }

  getAvailableResource(node: string, options?: Options): Promise<AvailableResource> {
    return this.#invoker.ask("getAvailableResource", this.#checks.availableResource, node, options);
  }

  /** Edits `tree` in place. @throws {ReshapeNeeded} {@link ReshapeFailed} */
  updateProviderTree(
    tree: ProviderTree,
    node: string,
    options?: Options & { readonly allocations?: ReshapeAllocations },
  ): Promise<void> {
    const check = this.#checks.editedTree(tree, node, options?.allocations);
    return this.#invoker.ask("updateProviderTree", check, tree, node, options);
  }

  getHostIpAddr(): string {
    let address: unknown;
    try {
      address = this.#driver.getHostIpAddr();
    } catch (thrown) {
      throw asDriverError(thrown, this.name, "getHostIpAddr");
    }
    return this.#checks.text("getHostIpAddr", address);
  }

  setHostEnabled(enabled: boolean, options?: Options): Promise<void> {
    return this.#invoker.runIfThere("setHostEnabled", enabled, options);
  }

  /** @throws {GuestNotFound} */
  getInfo(instance: Instance, options?: Options): Promise<GuestInfo> {
    return this.#invoker.ask("getInfo", this.#checks.guestInfo, instance, options);
  }

  /** Returns the state in {@link getInfo}; `nostate` for a missing guest. */
  powerState(instance: Instance, options?: Options): Promise<PowerState> {
    return this.getInfo(instance, options).then(({ state }) => state, nostateWithoutGuest);
  }

  async instanceExists(instance: Instance, options?: Options): Promise<boolean> {
    if (this.#invoker.supports("instanceExists")) {
      return this.#invoker.ask("instanceExists", this.#checks.boolean, instance, options);
    }
    return (await this.listInstanceUuids(options)).includes(instance.uuid);
  }

  prepareForSpawn(instance: Instance, options?: Options): Promise<void> {
    return this.#invoker.runIfThere("prepareForSpawn", instance, options);
  }

  spawn(instance: Instance, options: WithoutBytes<SpawnOptions>): Promise<void> {
    return lendingImages(this.#context.images, (images) => this.#invoker.run("spawn", instance, images.with(options)));
  }

  /** @throws {NotImplemented} */
  rebuild(instance: Instance, options: WithoutBytes<SpawnOptions>): Promise<void> {
    return lendingImages(this.#context.images, (images) =>
      this.#invoker.runNeeded("rebuild", instance, images.with(options)),
    );
  }

  failedSpawnCleanup(instance: Instance, options?: Options): Promise<void> {
    return this.#invoker.runIfThere("failedSpawnCleanup", instance, options);
  }

  destroy(instance: Instance, options: DestroyOptions): Promise<void> {
    return this.#invoker.run("destroy", instance, options);
  }

  powerOff(instance: Instance, options?: Options & { readonly timeout?: number }): Promise<void> {
    return this.#invoker.run("powerOff", instance, options);
  }

  powerOn(instance: Instance, options?: Options): Promise<void> {
    return this.#invoker.run("powerOn", instance, options);
  }

  reboot(instance: Instance, type: "SOFT" | "HARD", options?: Options): Promise<void> {
    return this.#invoker.run("reboot", instance, type, options);
  }

  /** @throws {NotImplemented} {@link GuestNotFound} */
  powerUpdateEvent(instance: Instance, target: "POWER_ON" | "POWER_OFF", options?: Options): Promise<void> {
    return this.#invoker.runNeeded("powerUpdateEvent", instance, target, options);
  }

  /** @throws {NotImplemented} like the next three methods */
  pause(instance: Instance, options?: Options): Promise<void> {
    return this.#invoker.runNeeded("pause", instance, options);
  }

  unpause(instance: Instance, options?: Options): Promise<void> {
    return this.#invoker.runNeeded("unpause", instance, options);
  }

  suspend(instance: Instance, options?: Options): Promise<void> {
    return this.#invoker.runNeeded("suspend", instance, options);
  }

  resume(instance: Instance, options?: Options): Promise<void> {
    return this.#invoker.runNeeded("resume", instance, options);
  }

  /** @throws {NotImplemented} like the next two methods. {@link GuestNotFound} */
  rescue(instance: Instance, options: WithoutBytes<RescueOptions>): Promise<void> {
    return lendingImages(this.#context.images, (images) =>
      this.#invoker.runNeeded("rescue", instance, images.with(options)),
    );
  }

  unrescue(instance: Instance, options?: Options): Promise<void> {
    return this.#invoker.runNeeded("unrescue", instance, options);
  }

  /** @throws {SetAdminPasswdNotSupported} {@link InstanceAgentNotEnabled} */
  setAdminPassword(instance: Instance, password: string, options?: Options): Promise<void> {
    return this.#invoker.runNeeded("setAdminPassword", instance, password, options);
  }

  /** @throws {InstanceNotRunning} */
  snapshot(instance: Instance, imageId: string, options: Omit<SnapshotOptions, "upload">): Promise<void> {
    return lendingImages(this.#context.images, (images) =>
      this.#invoker.runNeeded("snapshot", instance, imageId, images.to(imageId, options)),
    );
  }

  /** @throws {NotImplemented} like the next three methods */
  getHostUptime(options?: Options): Promise<string> {
    return this.#invoker.askNeeded("getHostUptime", this.#checks.text, options);
  }

  /** Returns the last {@link MAX_CONSOLE_CHARS} characters. @throws {GuestNotFound} */
  async getConsoleOutput(instance: Instance, options?: Options): Promise<string> {
    const output = await this.#invoker.askNeeded("getConsoleOutput", this.#checks.anyText, instance, options);
    return output.slice(-MAX_CONSOLE_CHARS);
  }

  /** @throws {GuestNotFound} like the next method */
  getDiagnostics(instance: Instance, options?: Options): Promise<Readonly<Record<string, number | string>>> {
    return this.#invoker.askNeeded("getDiagnostics", this.#checks.diagnostics, instance, options);
  }

  getInstanceDiagnostics(instance: Instance, options?: Options): Promise<GuestDiagnostics> {
    return this.#invoker.askNeeded("getInstanceDiagnostics", this.#checks.instanceDiagnostics, instance, options);
  }

  plugVifs(instance: Instance, options?: Options): Promise<void> {
    return this.#invoker.runIfThere("plugVifs", instance, options);
  }

  unplugVifs(instance: Instance, options?: Options): Promise<void> {
    return this.#invoker.runIfThere("unplugVifs", instance, options);
  }

  resumeStateOnHostBoot(instance: Instance, options?: Options): Promise<void> {
    return this.#invoker.runIfThere("resumeStateOnHostBoot", instance, options);
  }

  instanceOnDisk(instance: Instance, options?: Options): Promise<boolean> {
    return this.#invoker.askOr(false, "instanceOnDisk", this.#checks.boolean, instance, options);
  }

  deleteInstanceFiles(instance: Instance, options?: Options): Promise<boolean> {
    return this.#invoker.askOr(true, "deleteInstanceFiles", this.#checks.boolean, instance, options);
  }

  cleanupLingeringInstanceResources(instance: Instance, options?: Options): Promise<boolean> {
    return this.#invoker.askOr(true, "cleanupLingeringInstanceResources", this.#checks.boolean, instance, options);
  }

  /** @throws {NotImplemented} storage counts as not shared (spec 3.3) */
  checkInstanceSharedStorageLocal(instance: Instance, options?: Options): Promise<SharedStorageToken | null> {
    return this.#invoker.askNeeded("checkInstanceSharedStorageLocal", this.#checks.token, instance, options);
  }

  /** @throws {NotImplemented} */
  checkInstanceSharedStorageRemote(token: SharedStorageToken, options?: Options): Promise<boolean> {
    return this.#invoker.askNeeded("checkInstanceSharedStorageRemote", this.#checks.boolean, token, options);
  }

  checkInstanceSharedStorageCleanup(token: SharedStorageToken, options?: Options): Promise<void> {
    return this.#invoker.runIfThere("checkInstanceSharedStorageCleanup", token, options);
  }
}

async function lendingImages<T>(
  service: ImageService | undefined,
  work: (images: ScopedImages) => Promise<T>,
): Promise<T> {
  const images = new ScopedImages(service);
  try {
    return await work(images);
  } finally {
    images.end();
  }
}

/** The block devices of an instance with local disks only; volumes are out of scope. */
export const LOCAL_DISKS: BlockDeviceInfo = Object.freeze({ rootDeviceName: "/dev/vda", blockDeviceMapping: [] });
