import { type Capabilities, completeCapabilities } from "./capabilities.js";
import type { DriverHostDeps } from "./context.js";
import type { DriverOperationOptions, ReshapeAllocations, VirtDriver } from "./driver.js";
import type { DriverCallOptions } from "./driver-call.js";
import { asDriverError, nostateWithoutGuest } from "./driver-error.js";
import { type DriverArguments, DriverInvoker } from "./driver-invoker.js";
import { DRIVER_METHODS, type DriverMethod } from "./driver-methods.js";
import type { LifecycleEvents, LifecycleListener } from "./driver-output.js";
import { ImageServiceNotFound } from "./errors.js";
import type { FinishRevertOptions, RollbackAtDestinationOptions } from "./move-methods.js";
import type { ProviderTree } from "./provider-tree.js";
import type {
  BlockDeviceInfo,
  DestroyOptions,
  Image,
  ImageMeta,
  ImageService,
  Instance,
  PowerState,
  RescueOptions,
  SnapshotOptions,
  SpawnOptions,
  WithoutBytes,
} from "./types.js";

type Options = DriverOperationOptions;

type RefreshOptions = Options & { readonly refresh?: boolean };

export type DriverHostOptions = DriverCallOptions;

/** Methods of the contract for which the core does more than their rows in {@link DRIVER_METHODS} say. */
const OWN_METHODS = [
  "cleanupHost",
  "processInstancesAtStartup",
  "getNodenamesByUuid",
  "updateProviderTree",
  "getHostIpAddr",
  "instanceExists",
  "spawn",
  "rebuild",
  "rescue",
  "snapshot",
  "finishRevertMigration",
  "liveMigration",
  "rollbackLiveMigrationAtDestination",
  "cleanup",
] as const satisfies readonly DriverMethod[];

/** All other methods of the contract. */
type TableMethods = Pick<Required<VirtDriver>, Exclude<DriverMethod, (typeof OWN_METHODS)[number]>>;

/** Returns a class with the methods that are called as their rows say. */
function withTableMethods() {
  class TableInvoker extends DriverInvoker {}
  for (const method of Object.keys(DRIVER_METHODS) as DriverMethod[]) {
    if (!(OWN_METHODS as readonly DriverMethod[]).includes(method)) {
      Object.defineProperty(TableInvoker.prototype, method, {
        value(this: DriverInvoker, ...args: DriverArguments<DriverMethod>) {
          return this.invoke(method, ...args);
        },
      });
    }
  }
  return TableInvoker as new (
    ...args: ConstructorParameters<typeof DriverInvoker>
  ) => DriverInvoker & TableMethods;
}

/**
 * The only interface through which the core calls a driver. Offers every method of the contract, with the contract's default
 * for methods that the driver does not implement. Handles drivers that throw, hang or return invalid values: the result is a
 * checked value, an error of the contract, {@link VirtDriverMisbehaved} or {@link VirtDriverTimeout}.
 */
export class DriverHost extends withTableMethods() {
  readonly capabilities: Readonly<Required<Capabilities>>;
  readonly rebalancesNodes: boolean;
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
    super(name, driver, context, options);
    this.capabilities = completeCapabilities(name, driver.capabilities);
    this.rebalancesNodes = driver.rebalancesNodes === true;
    this.#events = events;
    this.#context = context;
  }

  /** Replaces the listener of guests' events. There is one; null drops events. */
  setLifecycleListener(listener: LifecycleListener | null): void {
    this.#events.setListener(listener);
  }

  /** Calls the driver's method once; further calls do nothing. Afterwards no events are delivered. */
  async cleanupHost(options?: Options): Promise<void> {
    if (this.#cleanedUp) {
      return;
    }
    this.#cleanedUp = true;
    this.#events.setListener(null);
    await this.invoke("cleanupHost", options);
  }

  async processInstancesAtStartup(instances: readonly Instance[], options?: Options): Promise<readonly Instance[]> {
    if (!this.supports("processInstancesAtStartup")) {
      return instances;
    }
    const check = (method: string, value: unknown) => this.checks.someOf(method, value, instances);
    return this.invokeChecked(check, "processInstancesAtStartup", instances, options);
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
    if (this.supports("getNodenamesByUuid")) {
      return this.invoke("getNodenamesByUuid", options);
    }
    const [first] = await this.getAvailableNodes(options);
    return new Map(first === undefined ? [] : [[await this.#context.localNodeUuid(), first]]);
  }

  /** Edits `tree` in place. @throws {ReshapeNeeded} {@link ReshapeFailed} */
  updateProviderTree(
    tree: ProviderTree,
    node: string,
    options?: Options & { readonly allocations?: ReshapeAllocations },
  ): Promise<void> {
    const check = this.checks.editedTree(tree, node, options?.allocations);
    return this.invokeChecked(check, "updateProviderTree", tree, node, options);
  }

  getHostIpAddr(): string {
    let address: unknown;
    try {
      address = this.driver.getHostIpAddr();
    } catch (thrown) {
      throw asDriverError(thrown, this.name, "getHostIpAddr");
    }
    return this.checks.text("getHostIpAddr", address);
  }

  /** Returns the state in {@link getInfo}; `nostate` for a missing guest. */
  powerState(instance: Instance, options?: Options): Promise<PowerState> {
    return this.getInfo(instance, options).then(({ state }) => state, nostateWithoutGuest);
  }

  async instanceExists(instance: Instance, options?: Options): Promise<boolean> {
    if (this.supports("instanceExists")) {
      return this.invoke("instanceExists", instance, options);
    }
    return (await this.listInstanceUuids(options)).includes(instance.uuid);
  }

  spawn(instance: Instance, options: WithoutBytes<SpawnOptions>): Promise<void> {
    return abortAfter((signal) =>
      this.invoke("spawn", instance, { ...options, image: this.#imageFor(options.image, signal) }),
    );
  }

  /** @throws {NotImplemented} */
  rebuild(instance: Instance, options: WithoutBytes<SpawnOptions>): Promise<void> {
    return abortAfter((signal) =>
      this.invoke("rebuild", instance, { ...options, image: this.#imageFor(options.image, signal) }),
    );
  }

  /** @throws {NotImplemented} {@link GuestNotFound} */
  rescue(instance: Instance, options: WithoutBytes<RescueOptions>): Promise<void> {
    return abortAfter((signal) =>
      this.invoke("rescue", instance, { ...options, image: this.#imageFor(options.image, signal) }),
    );
  }

  /** @throws {NotImplemented} {@link InstanceNotRunning} */
  snapshot(instance: Instance, imageId: string, options: Omit<SnapshotOptions, "upload">): Promise<void> {
    return abortAfter((signal) => {
      const upload: SnapshotOptions["upload"] = async (bytes, about = {}) =>
        this.#imageService().upload(imageId, bytes, about, signal);
      return this.invoke("snapshot", instance, imageId, { ...options, upload });
    });
  }

  /** Calls `powerOn`, if the guest should run, on drivers that do not implement the method. */
  async finishRevertMigration(instance: Instance, options: FinishRevertOptions): Promise<void> {
    if (this.supports("finishRevertMigration")) {
      await this.invoke("finishRevertMigration", instance, options);
    } else if (options.powerOn) {
      await this.powerOn(instance, options.signal ? { signal: options.signal } : {});
    }
  }

  async rollbackLiveMigrationAtDestination(instance: Instance, options: RollbackAtDestinationOptions): Promise<void> {
    if (this.supports("rollbackLiveMigrationAtDestination")) {
      return this.invoke("rollbackLiveMigrationAtDestination", instance, options);
    }
    const { data: _, ...destroyOptions } = options;
    await this.cleanup(instance, destroyOptions);
  }

  /** @throws {InstanceExists} */
  cleanup(instance: Instance, options: DestroyOptions): Promise<void> {
    return this.supports("cleanup") ? this.invoke("cleanup", instance, options) : this.destroy(instance, options);
  }

  /** Returns the image, whose content can be read until the signal is aborted. */
  #imageFor(image: ImageMeta, signal: AbortSignal): Image {
    return { ...image, open: async () => this.#imageService().open(image.id, signal) };
  }

  #imageService(): ImageService {
    const { images } = this.#context;
    if (images === undefined) {
      throw new ImageServiceNotFound("this host has no Image service");
    }
    return images;
  }
}

/** Runs a call with a signal that aborts its open transfers when it has ended. */
async function abortAfter<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  try {
    return await work(over.signal);
  } finally {
    over.abort(new Error("the driver's call has ended"));
  }
}

/** The block devices of an instance with no disk but a local root disk. */
export const LOCAL_DISKS: BlockDeviceInfo = Object.freeze({
  rootDeviceName: "/dev/vda",
  localDisks: [],
  volumes: [],
});
