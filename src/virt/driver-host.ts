import { type Capabilities, completeCapabilities } from "./capabilities.js";
import type { DriverContext } from "./context.js";
import type { DriverDefinition, DriverOperationOptions, ReshapeAllocations, VirtDriver } from "./driver.js";
import { DEFAULT_GRACE, DriverCaller, type DriverCallOptions } from "./driver-call.js";
import { asDriverError, describe } from "./driver-error.js";
import { DriverInvoker } from "./driver-invoker.js";
import { type DriverMethod, REQUIRED_METHODS } from "./driver-methods.js";
import { GuestNotFound, VirtDriverMisbehaved } from "./errors.js";
import { HostedMoves } from "./hosted-moves.js";
import { LifecycleEvents, type LifecycleListener } from "./lifecycle-events.js";
import type { ProviderTree } from "./provider-tree.js";
import {
  type AvailableResource,
  type DestroyOptions,
  type GuestInfo,
  type Instance,
  POWER_STATES,
  type PowerState,
  type RescueOptions,
  type SharedStorageToken,
  type SnapshotOptions,
  type SpawnOptions,
} from "./types.js";

type Options = DriverOperationOptions;
type RefreshOptions = Options & { readonly refresh?: boolean };
export type DriverHostOptions = DriverCallOptions;

/** Makes the definition's driver for one host. @throws what `create` throws. {@link VirtDriverMisbehaved} */
export async function createDriverHost(
  definition: DriverDefinition,
  context: Omit<DriverContext, "emitEvent">,
  options: DriverHostOptions = {},
): Promise<DriverHost> {
  const { name } = definition;
  const events = new LifecycleEvents(name, context.logger);
  let driver: VirtDriver;
  try {
    driver = await definition.create(Object.freeze({ ...context, emitEvent: events.emit }));
  } catch (thrown) {
    throw asDriverError(thrown, name, "create");
  }
  return new DriverHost(name, driver, events, context, options);
}

/**
 * The only way in which the core calls a driver. Offers every method of the contract with the contract's default where
 * the author left it out, and survives authors who throw, hang or return rubbish: what comes out is a checked value, an
 * error of the contract, {@link VirtDriverMisbehaved} or {@link VirtDriverTimeout}.
 */
export class DriverHost extends HostedMoves {
  readonly name: string;
  readonly capabilities: Readonly<Required<Capabilities>>;
  readonly rebalancesNodes: boolean;
  readonly #driver: VirtDriver;
  readonly #events: LifecycleEvents;
  readonly #context: Pick<DriverContext, "localNodeUuid">;
  #cleanedUp = false;

  constructor(
    name: string,
    driver: VirtDriver,
    events: LifecycleEvents,
    context: Omit<DriverContext, "emitEvent">,
    options: DriverHostOptions,
  ) {
    refuseIncomplete(name, driver);
    super(new DriverInvoker(name, driver, new DriverCaller(name, context, options)), context, {
      grace: options.grace ?? DEFAULT_GRACE,
    });
    this.name = name;
    this.capabilities = completeCapabilities(driver.capabilities);
    this.rebalancesNodes = driver.rebalancesNodes === true;
    this.#driver = driver;
    this.#events = events;
    this.#context = context;
  }

  /** The author wrote this method; where it matters which default applies. */
  supports(method: DriverMethod): boolean {
    return this.invoker.supports(method);
  }

  /** Until `work` ends, calls about this instance carry this request's id, to the driver and into the log. */
  onBehalf<T>(instanceUuid: string, requestId: string, work: () => Promise<T>): Promise<T> {
    return this.invoker.onBehalf(instanceUuid, requestId, work);
  }

  /** The listener of the guests' events. There is one; null drops them. */
  setLifecycleListener(listener: LifecycleListener | null): void {
    this.#events.setListener(listener);
  }

  initHost(options?: Options): Promise<void> {
    return this.invoker.run("initHost", options);
  }

  /** Does nothing the second time. No event comes after it. */
  async cleanupHost(options?: Options): Promise<void> {
    if (this.#cleanedUp) {
      return;
    }
    this.#cleanedUp = true;
    this.#events.setListener(null);
    await this.invoker.run("cleanupHost", options);
  }

  async processInstancesAtStartup(instances: readonly Instance[], options?: Options): Promise<readonly Instance[]> {
    const method = "processInstancesAtStartup";
    if (!this.invoker.supports(method)) {
      return instances;
    }
    const check = (_: DriverMethod, value: unknown) => this.invoker.checks.someOf(method, value, instances);
    return this.invoker.ask(method, check, instances, options);
  }

  listInstanceUuids(options?: Options): Promise<readonly string[]> {
    return this.invoker.ask("listInstanceUuids", this.invoker.checks.uuids, options);
  }

  getAvailableNodes(options?: RefreshOptions): Promise<readonly string[]> {
    return this.invoker.ask("getAvailableNodes", this.invoker.checks.names, options);
  }

  /** In the list of nodes, if need be in a fresh one (spec 8.1 `node_is_available`). @throws {VirtDriverNotReady} */
  async nodeIsAvailable(node: string, options?: Options): Promise<boolean> {
    if ((await this.getAvailableNodes(options)).includes(node)) {
      return true;
    }
    return (await this.getAvailableNodes({ ...options, refresh: true })).includes(node);
  }

  async getNodenamesByUuid(options?: RefreshOptions): Promise<ReadonlyMap<string, string>> {
    if (this.invoker.supports("getNodenamesByUuid")) {
      return this.invoker.ask("getNodenamesByUuid", this.invoker.checks.namesByUuid, options);
    }
    const [first] = await this.getAvailableNodes(options);
    return new Map(first === undefined ? [] : [[await this.#context.localNodeUuid(), first]]);
  }

  async isNodeDeleted(node: string, options?: Options): Promise<boolean> {
    return (
      this.invoker.supports("isNodeDeleted") &&
      this.invoker.ask("isNodeDeleted", this.invoker.checks.boolean, node, options)
    );
  }

  getAvailableResource(node: string, options?: Options): Promise<AvailableResource> {
    return this.invoker.ask("getAvailableResource", this.invoker.checks.availableResource, node, options);
  }

  /** Edits `tree` in place. @throws {ReshapeNeeded} {@link ReshapeFailed} */
  updateProviderTree(
    tree: ProviderTree,
    node: string,
    options?: Options & { readonly allocations?: ReshapeAllocations },
  ): Promise<void> {
    const root = tree.find(node)?.uuid;
    const rootKept = (method: DriverMethod) => {
      if (root === undefined || tree.find(root)?.name === node) {
        return;
      }
      throw new VirtDriverMisbehaved(this.name, method, "never remove or rename the root provider", `${node} is gone`);
    };
    return this.invoker.ask("updateProviderTree", rootKept, tree, node, options);
  }

  getHostIpAddr(): string {
    const method = "getHostIpAddr";
    let address: unknown;
    try {
      address = this.#driver.getHostIpAddr();
    } catch (thrown) {
      throw asDriverError(thrown, this.name, method);
    }
    return this.invoker.checks.text(method, address);
  }

  async setHostEnabled(enabled: boolean, options?: Options): Promise<void> {
    if (this.invoker.supports("setHostEnabled")) {
      await this.invoker.run("setHostEnabled", enabled, options);
    }
  }

  /** @throws {GuestNotFound} */
  getInfo(instance: Instance, options?: Options): Promise<GuestInfo> {
    return this.invoker.ask("getInfo", this.invoker.checks.guestInfo, instance, options);
  }

  /** The state in {@link getInfo}; `nostate` for a guest that is not there. */
  async powerState(instance: Instance, options?: Options): Promise<PowerState> {
    try {
      return (await this.getInfo(instance, options)).state;
    } catch (error) {
      if (error instanceof GuestNotFound) {
        return POWER_STATES.nostate;
      }
      throw error;
    }
  }

  async instanceExists(instance: Instance, options?: Options): Promise<boolean> {
    if (this.invoker.supports("instanceExists")) {
      return this.invoker.ask("instanceExists", this.invoker.checks.boolean, instance, options);
    }
    return (await this.listInstanceUuids(options)).includes(instance.uuid);
  }

  async prepareForSpawn(instance: Instance, options?: Options): Promise<void> {
    if (this.invoker.supports("prepareForSpawn")) {
      await this.invoker.run("prepareForSpawn", instance, options);
    }
  }

  spawn(instance: Instance, options: SpawnOptions): Promise<void> {
    return this.invoker.run("spawn", instance, options);
  }

  /** @throws {NotImplemented} */
  async rebuild(instance: Instance, options: SpawnOptions): Promise<void> {
    this.invoker.need("rebuild");
    await this.invoker.run("rebuild", instance, options);
  }

  async failedSpawnCleanup(instance: Instance, options?: Options): Promise<void> {
    if (this.invoker.supports("failedSpawnCleanup")) {
      await this.invoker.run("failedSpawnCleanup", instance, options);
    }
  }

  destroy(instance: Instance, options: DestroyOptions): Promise<void> {
    return this.invoker.run("destroy", instance, options);
  }

  powerOff(instance: Instance, options?: Options & { readonly timeout?: number }): Promise<void> {
    return this.invoker.run("powerOff", instance, options);
  }

  powerOn(instance: Instance, options?: Options): Promise<void> {
    return this.invoker.run("powerOn", instance, options);
  }

  reboot(instance: Instance, type: "SOFT" | "HARD", options?: Options): Promise<void> {
    return this.invoker.run("reboot", instance, type, options);
  }

  /** @throws {NotImplemented} as the three that follow. */
  async pause(instance: Instance, options?: Options): Promise<void> {
    this.invoker.need("pause");
    await this.invoker.run("pause", instance, options);
  }

  async unpause(instance: Instance, options?: Options): Promise<void> {
    this.invoker.need("unpause");
    await this.invoker.run("unpause", instance, options);
  }

  async suspend(instance: Instance, options?: Options): Promise<void> {
    this.invoker.need("suspend");
    await this.invoker.run("suspend", instance, options);
  }

  async resume(instance: Instance, options?: Options): Promise<void> {
    this.invoker.need("resume");
    await this.invoker.run("resume", instance, options);
  }

  /** @throws {NotImplemented} as the two that follow. {@link GuestNotFound} */
  async rescue(instance: Instance, options: RescueOptions): Promise<void> {
    this.invoker.need("rescue");
    await this.invoker.run("rescue", instance, options);
  }

  async unrescue(instance: Instance, options?: Options): Promise<void> {
    this.invoker.need("unrescue");
    await this.invoker.run("unrescue", instance, options);
  }

  /** @throws {InstanceNotRunning} */
  async snapshot(instance: Instance, imageId: string, options: SnapshotOptions): Promise<void> {
    this.invoker.need("snapshot");
    await this.invoker.run("snapshot", instance, imageId, options);
  }

  async plugVifs(instance: Instance, options?: Options): Promise<void> {
    if (this.invoker.supports("plugVifs")) {
      await this.invoker.run("plugVifs", instance, options);
    }
  }

  async unplugVifs(instance: Instance, options?: Options): Promise<void> {
    if (this.invoker.supports("unplugVifs")) {
      await this.invoker.run("unplugVifs", instance, options);
    }
  }

  async resumeStateOnHostBoot(instance: Instance, options?: Options): Promise<void> {
    if (this.invoker.supports("resumeStateOnHostBoot")) {
      await this.invoker.run("resumeStateOnHostBoot", instance, options);
    }
  }

  async instanceOnDisk(instance: Instance, options?: Options): Promise<boolean> {
    return (
      this.invoker.supports("instanceOnDisk") &&
      this.invoker.ask("instanceOnDisk", this.invoker.checks.boolean, instance, options)
    );
  }

  async deleteInstanceFiles(instance: Instance, options?: Options): Promise<boolean> {
    const method = "deleteInstanceFiles";
    return !this.invoker.supports(method) || this.invoker.ask(method, this.invoker.checks.boolean, instance, options);
  }

  async cleanupLingeringInstanceResources(instance: Instance, options?: Options): Promise<boolean> {
    const method = "cleanupLingeringInstanceResources";
    return !this.invoker.supports(method) || this.invoker.ask(method, this.invoker.checks.boolean, instance, options);
  }

  /** @throws {NotImplemented} storage counts as not shared (spec 3.3). */
  async checkInstanceSharedStorageLocal(instance: Instance, options?: Options): Promise<SharedStorageToken | null> {
    const method = "checkInstanceSharedStorageLocal";
    this.invoker.need(method);
    return this.invoker.ask(method, this.invoker.checks.token, instance, options);
  }

  /** @throws {NotImplemented} */
  async checkInstanceSharedStorageRemote(token: SharedStorageToken, options?: Options): Promise<boolean> {
    const method = "checkInstanceSharedStorageRemote";
    this.invoker.need(method);
    return this.invoker.ask(method, this.invoker.checks.boolean, token, options);
  }

  async checkInstanceSharedStorageCleanup(token: SharedStorageToken, options?: Options): Promise<void> {
    const method = "checkInstanceSharedStorageCleanup";
    if (this.invoker.supports(method)) {
      await this.invoker.run(method, token, options);
    }
  }
}

function refuseIncomplete(name: string, driver: unknown): void {
  if (typeof driver !== "object" || driver === null) {
    throw new VirtDriverMisbehaved(name, "create", "return a driver (an object)", `found ${describe(driver)}`);
  }
  const missing = REQUIRED_METHODS.filter((method) => typeof (driver as Partial<VirtDriver>)[method] !== "function");
  if (missing.length > 0) {
    throw new VirtDriverMisbehaved(
      name,
      "create",
      `return a driver with all of ${REQUIRED_METHODS.join(", ")}`,
      `${missing.join(", ")} is missing`,
    );
  }
}
