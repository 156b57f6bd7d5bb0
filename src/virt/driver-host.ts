import { type Capabilities, completeCapabilities } from "./capabilities.js";
import type { DriverContext } from "./context.js";
import type { DriverDefinition, DriverOperationOptions, ReshapeAllocations, VirtDriver } from "./driver.js";
import { DriverCaller, type DriverCallOptions } from "./driver-call.js";
import { DriverChecks } from "./driver-checks.js";
import { asDriverError, describe } from "./driver-error.js";
import { DRIVER_METHODS, type DriverMethod, REQUIRED_METHODS } from "./driver-methods.js";
import { GuestNotFound, NotImplemented, VirtDriverMisbehaved } from "./errors.js";
import { LifecycleEvents, type LifecycleListener } from "./lifecycle-events.js";
import type { ProviderTree } from "./provider-tree.js";
import {
  type AvailableResource,
  type DestroyOptions,
  type GuestInfo,
  type Instance,
  POWER_STATES,
  type PowerState,
  type SharedStorageToken,
  type SpawnOptions,
} from "./types.js";

type Options = DriverOperationOptions;
type RefreshOptions = Options & { readonly refresh?: boolean };
type Arguments<M extends DriverMethod> =
  Required<Parameters<NonNullable<VirtDriver[M]>>> extends readonly [...infer Subject, infer Last]
    ? [...Subject, Last | undefined]
    : [];

export type DriverHostOptions = DriverCallOptions;

/** Makes the definition's driver for one host. @throws what `create` throws. {@link VirtDriverMisbehaved} */
export const createDriverHost = async (
  definition: DriverDefinition,
  context: Omit<DriverContext, "emitEvent">,
  options: DriverHostOptions = {},
): Promise<DriverHost> => {
  const { name } = definition;
  const events = new LifecycleEvents(name, context.logger);
  let driver: VirtDriver;
  try {
    driver = await definition.create(Object.freeze({ ...context, emitEvent: events.emit }));
  } catch (thrown) {
    throw asDriverError(thrown, name, "create");
  }
  return new DriverHost(name, driver, events, context, options);
};

/**
 * The only way in which the core calls a driver. Offers every method of the contract with the contract's default where
 * the author left it out, and survives authors who throw, hang or return rubbish: what comes out is a checked value, an
 * error of the contract, {@link VirtDriverMisbehaved} or {@link VirtDriverTimeout}.
 */
export class DriverHost {
  readonly name: string;
  readonly capabilities: Readonly<Required<Capabilities>>;
  readonly rebalancesNodes: boolean;
  readonly #driver: VirtDriver;
  readonly #events: LifecycleEvents;
  readonly #context: Pick<DriverContext, "localNodeUuid">;
  readonly #caller: DriverCaller;
  readonly #checks: DriverChecks;
  #cleanedUp = false;

  constructor(
    name: string,
    driver: VirtDriver,
    events: LifecycleEvents,
    context: Omit<DriverContext, "emitEvent">,
    options: DriverHostOptions,
  ) {
    refuseIncomplete(name, driver);
    this.name = name;
    this.capabilities = completeCapabilities(driver.capabilities);
    this.rebalancesNodes = driver.rebalancesNodes === true;
    this.#driver = driver;
    this.#events = events;
    this.#context = context;
    this.#caller = new DriverCaller(name, context, options);
    this.#checks = new DriverChecks(name);
  }

  /** The author wrote this method; where it matters which default applies. */
  supports(method: DriverMethod): boolean {
    return typeof this.#driver[method] === "function";
  }

  /** Of the guests' events. One listener; null drops them. */
  setLifecycleListener(listener: LifecycleListener | null): void {
    this.#events.setListener(listener);
  }

  initHost(options?: Options): Promise<void> {
    return this.#run("initHost", options);
  }

  /** Does nothing the second time. No event comes after it. */
  async cleanupHost(options?: Options): Promise<void> {
    if (this.#cleanedUp) return;
    this.#cleanedUp = true;
    this.#events.setListener(null);
    await this.#run("cleanupHost", options);
  }

  async processInstancesAtStartup(instances: readonly Instance[], options?: Options): Promise<readonly Instance[]> {
    const method = "processInstancesAtStartup";
    if (!this.supports(method)) return instances;
    const check = (_: DriverMethod, value: unknown) => this.#checks.someOf(method, value, instances);
    return this.#ask(method, check, instances, options);
  }

  listInstanceUuids(options?: Options): Promise<readonly string[]> {
    return this.#ask("listInstanceUuids", this.#checks.uuids, options);
  }

  getAvailableNodes(options?: RefreshOptions): Promise<readonly string[]> {
    return this.#ask("getAvailableNodes", this.#checks.names, options);
  }

  /** In the list of nodes, if need be in a fresh one (spec 8.1 `node_is_available`). @throws {VirtDriverNotReady} */
  async nodeIsAvailable(node: string, options?: Options): Promise<boolean> {
    if ((await this.getAvailableNodes(options)).includes(node)) return true;
    return (await this.getAvailableNodes({ ...options, refresh: true })).includes(node);
  }

  async getNodenamesByUuid(options?: RefreshOptions): Promise<ReadonlyMap<string, string>> {
    if (this.supports("getNodenamesByUuid")) {
      return this.#ask("getNodenamesByUuid", this.#checks.namesByUuid, options);
    }
    const [first] = await this.getAvailableNodes(options);
    return new Map(first === undefined ? [] : [[await this.#context.localNodeUuid(), first]]);
  }

  async isNodeDeleted(node: string, options?: Options): Promise<boolean> {
    return this.supports("isNodeDeleted") && this.#ask("isNodeDeleted", this.#checks.boolean, node, options);
  }

  getAvailableResource(node: string, options?: Options): Promise<AvailableResource> {
    return this.#ask("getAvailableResource", this.#checks.availableResource, node, options);
  }

  /** Edits `tree` in place. @throws {ReshapeNeeded} {@link ReshapeFailed} */
  updateProviderTree(
    tree: ProviderTree,
    node: string,
    options?: Options & { readonly allocations?: ReshapeAllocations },
  ): Promise<void> {
    const root = tree.find(node)?.uuid;
    const rootKept = (method: DriverMethod) => {
      if (root === undefined || tree.find(root)?.name === node) return;
      throw new VirtDriverMisbehaved(this.name, method, "never remove or rename the root provider", `${node} is gone`);
    };
    return this.#ask("updateProviderTree", rootKept, tree, node, options);
  }

  getHostIpAddr(): string {
    const method = "getHostIpAddr";
    let address: unknown;
    try {
      address = this.#driver.getHostIpAddr();
    } catch (thrown) {
      throw asDriverError(thrown, this.name, method);
    }
    return this.#checks.text(method, address);
  }

  async setHostEnabled(enabled: boolean, options?: Options): Promise<void> {
    if (this.supports("setHostEnabled")) await this.#run("setHostEnabled", enabled, options);
  }

  /** @throws {GuestNotFound} */
  getInfo(instance: Instance, options?: Options): Promise<GuestInfo> {
    return this.#ask("getInfo", this.#checks.guestInfo, instance, options);
  }

  /** The state in {@link getInfo}; `nostate` for a guest that is not there. */
  async powerState(instance: Instance, options?: Options): Promise<PowerState> {
    try {
      return (await this.getInfo(instance, options)).state;
    } catch (error) {
      if (error instanceof GuestNotFound) return POWER_STATES.nostate;
      throw error;
    }
  }

  async instanceExists(instance: Instance, options?: Options): Promise<boolean> {
    if (this.supports("instanceExists")) {
      return this.#ask("instanceExists", this.#checks.boolean, instance, options);
    }
    return (await this.listInstanceUuids(options)).includes(instance.uuid);
  }

  async prepareForSpawn(instance: Instance, options?: Options): Promise<void> {
    if (this.supports("prepareForSpawn")) await this.#run("prepareForSpawn", instance, options);
  }

  spawn(instance: Instance, options: SpawnOptions): Promise<void> {
    return this.#run("spawn", instance, options);
  }

  async failedSpawnCleanup(instance: Instance, options?: Options): Promise<void> {
    if (this.supports("failedSpawnCleanup")) await this.#run("failedSpawnCleanup", instance, options);
  }

  destroy(instance: Instance, options: DestroyOptions): Promise<void> {
    return this.#run("destroy", instance, options);
  }

  powerOff(instance: Instance, options?: Options & { readonly timeout?: number }): Promise<void> {
    return this.#run("powerOff", instance, options);
  }

  powerOn(instance: Instance, options?: Options): Promise<void> {
    return this.#run("powerOn", instance, options);
  }

  reboot(instance: Instance, type: "SOFT" | "HARD", options?: Options): Promise<void> {
    return this.#run("reboot", instance, type, options);
  }

  /** @throws {NotImplemented} as the three that follow. */
  async pause(instance: Instance, options?: Options): Promise<void> {
    this.#need("pause");
    await this.#run("pause", instance, options);
  }

  async unpause(instance: Instance, options?: Options): Promise<void> {
    this.#need("unpause");
    await this.#run("unpause", instance, options);
  }

  async suspend(instance: Instance, options?: Options): Promise<void> {
    this.#need("suspend");
    await this.#run("suspend", instance, options);
  }

  async resume(instance: Instance, options?: Options): Promise<void> {
    this.#need("resume");
    await this.#run("resume", instance, options);
  }

  async resumeStateOnHostBoot(instance: Instance, options?: Options): Promise<void> {
    if (this.supports("resumeStateOnHostBoot")) await this.#run("resumeStateOnHostBoot", instance, options);
  }

  async instanceOnDisk(instance: Instance, options?: Options): Promise<boolean> {
    return this.supports("instanceOnDisk") && this.#ask("instanceOnDisk", this.#checks.boolean, instance, options);
  }

  async deleteInstanceFiles(instance: Instance, options?: Options): Promise<boolean> {
    const method = "deleteInstanceFiles";
    return !this.supports(method) || this.#ask(method, this.#checks.boolean, instance, options);
  }

  async cleanupLingeringInstanceResources(instance: Instance, options?: Options): Promise<boolean> {
    const method = "cleanupLingeringInstanceResources";
    return !this.supports(method) || this.#ask(method, this.#checks.boolean, instance, options);
  }

  /** @throws {NotImplemented} storage counts as not shared (spec 3.3). */
  async checkInstanceSharedStorageLocal(instance: Instance, options?: Options): Promise<SharedStorageToken | null> {
    const method = "checkInstanceSharedStorageLocal";
    this.#need(method);
    return this.#ask(method, this.#checks.token, instance, options);
  }

  /** @throws {NotImplemented} */
  async checkInstanceSharedStorageRemote(token: SharedStorageToken, options?: Options): Promise<boolean> {
    const method = "checkInstanceSharedStorageRemote";
    this.#need(method);
    return this.#ask(method, this.#checks.boolean, token, options);
  }

  async checkInstanceSharedStorageCleanup(token: SharedStorageToken, options?: Options): Promise<void> {
    const method = "checkInstanceSharedStorageCleanup";
    if (this.supports(method)) await this.#run(method, token, options);
  }

  /** A driver without it is only told to power on, if that is wanted. */
  async finishRevertMigration(instance: Instance, options: Options & { readonly powerOn: boolean }): Promise<void> {
    if (this.supports("finishRevertMigration")) {
      await this.#run("finishRevertMigration", instance, options);
    } else if (options.powerOn) {
      await this.powerOn(instance, options);
    }
  }

  async liveMigrationAbort(instance: Instance, options?: Options): Promise<void> {
    if (this.supports("liveMigrationAbort")) await this.#run("liveMigrationAbort", instance, options);
  }

  #run<M extends DriverMethod>(method: M, ...args: Arguments<M>): Promise<void> {
    return this.#ask(method, this.#checks.nothing, ...args);
  }

  /** Calls the author's method; its last argument is always the options, which get the signal of the time-out too. */
  #ask<M extends DriverMethod, R>(
    method: M,
    check: (method: DriverMethod, value: unknown) => R,
    ...args: Arguments<M>
  ): Promise<R> {
    const options = args.at(-1) as Options | undefined;
    const [subject] = args as readonly unknown[];
    return this.#caller.call({
      method,
      instanceUuid: DRIVER_METHODS[method].changesGuests ? (subject as Instance).uuid : undefined,
      signal: options?.signal,
      invoke: (signal) =>
        Reflect.apply(this.#driver[method] as () => unknown, this.#driver, [
          ...args.slice(0, -1),
          { ...options, signal },
        ]),
      check: (value) => check(method, value),
    });
  }

  /** @throws {NotImplemented} */
  #need(method: DriverMethod): void {
    if (this.supports(method)) return;
    throw new NotImplemented(
      `driver ${this.name} has no ${method}: use a driver that has it, or add the method to this one`,
    );
  }
}

const refuseIncomplete = (name: string, driver: unknown): void => {
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
};
