import type { VirtDriver } from "./driver.js";
import type { DriverChecks } from "./driver-checks.js";

/** Names of the contract's methods. */
export type DriverMethod = Exclude<keyof VirtDriver, "capabilities" | "rebalancesNodes">;

const MINUTE = 60_000;

/** The value of a contract method, without its promise. */
export type DriverResult<M extends DriverMethod> = Awaited<ReturnType<NonNullable<VirtDriver[M]>>>;

/** Names of the checks that return a value of this type. */
type CheckOf<R> = {
  [K in keyof DriverChecks]: DriverChecks[K] extends (method: string, value: unknown) => R ? K : never;
}[keyof DriverChecks];

interface CommonRule<Fallback> {
  /**
   * The behaviour of the core if the driver lacks the method: it throws NotImplemented, does something else (see
   * `DriverHost`), does nothing, or assumes the value. Absent: the method is required; a driver without it is rejected.
   */
  readonly without?: "reject" | "replace" | Fallback;
  /** Whether the method changes a guest or its files, so that it needs the host lease (spec V1, V6). Default false. */
  readonly changesGuests?: boolean;
  /** Number of arguments before the options. */
  readonly args: number;
  /** Default timeout in milliseconds. */
  readonly timeout: number;
}

/** Properties of a method; `result` names the check of its value, null if the check needs the arguments. */
type MethodRule<M extends DriverMethod> =
  undefined extends DriverResult<M>
    ? CommonRule<"ignore"> & { readonly result?: undefined }
    : CommonRule<DriverResult<M> extends boolean ? boolean : never> & {
        readonly result: CheckOf<DriverResult<M>> | null;
      };

/** Properties of each method that the core needs before a call. */
export const DRIVER_METHODS: { readonly [M in DriverMethod]: MethodRule<M> } = {
  initHost: { args: 0, timeout: 5 * MINUTE },
  cleanupHost: { args: 0, timeout: MINUTE },
  processInstancesAtStartup: { without: "replace", args: 1, result: null, timeout: 5 * MINUTE },
  listInstanceUuids: { args: 0, result: "uuids", timeout: 2 * MINUTE },
  getAvailableNodes: { args: 0, result: "names", timeout: 2 * MINUTE },
  getNodenamesByUuid: { without: "replace", args: 0, result: "namesByUuid", timeout: 2 * MINUTE },
  isNodeDeleted: { without: false, args: 1, result: "boolean", timeout: MINUTE },
  getAvailableResource: { args: 1, result: "availableResource", timeout: 2 * MINUTE },
  updateProviderTree: { args: 2, timeout: 2 * MINUTE },
  getHostIpAddr: { args: 0, result: "text", timeout: MINUTE },
  setHostEnabled: { without: "ignore", args: 1, timeout: MINUTE },
  getInfo: { args: 1, result: "guestInfo", timeout: MINUTE },
  instanceExists: { without: "replace", args: 1, result: "boolean", timeout: MINUTE },
  prepareForSpawn: { without: "ignore", changesGuests: true, args: 1, timeout: 10 * MINUTE },
  spawn: { changesGuests: true, args: 1, timeout: 60 * MINUTE },
  rebuild: { without: "reject", changesGuests: true, args: 1, timeout: 60 * MINUTE },
  failedSpawnCleanup: { without: "ignore", changesGuests: true, args: 1, timeout: 10 * MINUTE },
  destroy: { changesGuests: true, args: 1, timeout: 10 * MINUTE },
  powerOff: { changesGuests: true, args: 1, timeout: 10 * MINUTE },
  powerOn: { changesGuests: true, args: 1, timeout: 5 * MINUTE },
  reboot: { changesGuests: true, args: 2, timeout: 10 * MINUTE },
  powerUpdateEvent: { without: "reject", args: 2, timeout: 2 * MINUTE },
  pause: { without: "reject", changesGuests: true, args: 1, timeout: 5 * MINUTE },
  unpause: { without: "reject", changesGuests: true, args: 1, timeout: 5 * MINUTE },
  suspend: { without: "reject", changesGuests: true, args: 1, timeout: 10 * MINUTE },
  resume: { without: "reject", changesGuests: true, args: 1, timeout: 10 * MINUTE },
  resumeStateOnHostBoot: { without: "ignore", changesGuests: true, args: 1, timeout: 5 * MINUTE },
  plugVifs: { without: "ignore", changesGuests: true, args: 1, timeout: 5 * MINUTE },
  unplugVifs: { without: "ignore", changesGuests: true, args: 1, timeout: 5 * MINUTE },
  instanceOnDisk: { without: false, args: 1, result: "boolean", timeout: MINUTE },
  deleteInstanceFiles: { without: true, changesGuests: true, args: 1, result: "boolean", timeout: 10 * MINUTE },
  cleanupLingeringInstanceResources: {
    without: true,
    changesGuests: true,
    args: 1,
    result: "boolean",
    timeout: 10 * MINUTE,
  },
  checkInstanceSharedStorageLocal: { without: "reject", args: 1, result: "token", timeout: MINUTE },
  checkInstanceSharedStorageRemote: { without: "reject", args: 1, result: "boolean", timeout: MINUTE },
  checkInstanceSharedStorageCleanup: { without: "ignore", args: 1, timeout: MINUTE },
  rescue: { without: "reject", changesGuests: true, args: 1, timeout: 10 * MINUTE },
  unrescue: { without: "reject", changesGuests: true, args: 1, timeout: 10 * MINUTE },
  setAdminPassword: { without: "reject", changesGuests: true, args: 2, timeout: 2 * MINUTE },
  snapshot: { without: "reject", changesGuests: true, args: 2, timeout: 60 * MINUTE },
  getVolumeConnector: { without: "reject", args: 1, result: "volumeConnector", timeout: MINUTE },
  attachVolume: { without: "reject", changesGuests: true, args: 2, timeout: 10 * MINUTE },
  detachVolume: { without: "reject", changesGuests: true, args: 2, timeout: 10 * MINUTE },
  swapVolume: { without: "reject", changesGuests: true, args: 2, timeout: 8 * 60 * MINUTE },
  extendVolume: { without: "reject", changesGuests: true, args: 2, timeout: 10 * MINUTE },
  listVolumes: { without: "reject", args: 1, result: "attachedVolumes", timeout: MINUTE },
  getHostUptime: { without: "reject", args: 0, result: "text", timeout: MINUTE },
  getConsoleOutput: { without: "reject", args: 1, result: "consoleOutput", timeout: MINUTE },
  getDiagnostics: { without: "reject", args: 1, result: "diagnostics", timeout: MINUTE },
  getInstanceDiagnostics: { without: "reject", args: 1, result: "instanceDiagnostics", timeout: MINUTE },
  migrateDiskAndPowerOff: { without: "reject", changesGuests: true, args: 1, result: "anyText", timeout: 60 * MINUTE },
  finishMigration: { without: "reject", changesGuests: true, args: 3, timeout: 60 * MINUTE },
  confirmMigration: { without: "reject", changesGuests: true, args: 2, timeout: 10 * MINUTE },
  finishRevertMigration: { without: "replace", changesGuests: true, args: 1, timeout: 60 * MINUTE },
  checkCanLiveMigrateDestination: { without: "reject", args: 1, result: "liveMigrateData", timeout: 2 * MINUTE },
  checkCanLiveMigrateSource: { without: "reject", args: 2, result: "liveMigrateData", timeout: 2 * MINUTE },
  cleanupLiveMigrationDestinationCheck: { without: "ignore", args: 1, timeout: MINUTE },
  preLiveMigration: {
    without: "reject",
    changesGuests: true,
    args: 1,
    result: "liveMigrateData",
    timeout: 10 * MINUTE,
  },
  // The timeout ends at the driver's first callback. The driver itself must give up on a guest that writes faster than it
  // copies.
  liveMigration: { without: "reject", changesGuests: true, args: 2, timeout: 8 * 60 * MINUTE },
  liveMigrationForceComplete: { without: "reject", changesGuests: true, args: 1, timeout: 5 * MINUTE },
  liveMigrationAbort: { without: "reject", changesGuests: true, args: 1, timeout: 5 * MINUTE },
  postLiveMigration: { without: "ignore", changesGuests: true, args: 1, timeout: 5 * MINUTE },
  postLiveMigrationAtSource: { without: "ignore", changesGuests: true, args: 1, timeout: 5 * MINUTE },
  postLiveMigrationAtDestination: { without: "ignore", changesGuests: true, args: 1, timeout: 5 * MINUTE },
  rollbackLiveMigrationAtSource: { without: "ignore", changesGuests: true, args: 1, timeout: 5 * MINUTE },
  rollbackLiveMigrationAtDestination: { without: "replace", changesGuests: true, args: 1, timeout: 10 * MINUTE },
  cleanup: { without: "replace", changesGuests: true, args: 1, timeout: 10 * MINUTE },
};

export const REQUIRED_METHODS: readonly DriverMethod[] = (Object.keys(DRIVER_METHODS) as DriverMethod[]).filter(
  (method) => DRIVER_METHODS[method].without === undefined,
);

/** Methods with the migration as first argument. */
const INSTANCE_SECOND: ReadonlySet<string> = new Set<DriverMethod>(["finishMigration", "confirmMigration"]);

/** Returns the uuid of the call's instance; undefined if the call is about the host or about several instances. */
export function subjectOf(method: string, args: readonly unknown[]): string | undefined {
  const subject = args[INSTANCE_SECOND.has(method) ? 1 : 0];
  return typeof subject === "object" && subject !== null && "uuid" in subject ? String(subject.uuid) : undefined;
}

/** Returns the names of all members of a driver, including inherited ones, and of all methods of the contract. */
export function membersOf(driver: object): readonly string[] {
  const names = new Set(Object.keys(DRIVER_METHODS));
  for (
    let each: object | null = driver;
    each !== null && each !== Object.prototype;
    each = Object.getPrototypeOf(each)
  ) {
    for (const name of Object.getOwnPropertyNames(each)) {
      names.add(name);
    }
  }
  names.delete("constructor");
  return [...names];
}
