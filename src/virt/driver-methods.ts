import type { VirtDriver } from "./driver.js";

/** Names of the contract's methods. */
export type DriverMethod = Exclude<keyof VirtDriver, "capabilities" | "rebalancesNodes">;

const MINUTE = 60_000;

interface MethodRule {
  /** A driver without the method is rejected. */
  readonly required: boolean;
  /** The method changes a guest or its files, so it needs the host lease (spec V1, V6). */
  readonly changesGuests: boolean;
  /** Default timeout in milliseconds. */
  readonly timeout: number;
}

function rule(required: boolean, changesGuests: boolean, timeout: number): MethodRule {
  return {
    required,
    changesGuests,
    timeout,
  };
}

/** Properties of each method that the core needs before a call. */
export const DRIVER_METHODS: Readonly<Record<DriverMethod, MethodRule>> = {
  initHost: rule(true, false, 5 * MINUTE),
  cleanupHost: rule(true, false, MINUTE),
  processInstancesAtStartup: rule(false, false, 5 * MINUTE),
  listInstanceUuids: rule(true, false, 2 * MINUTE),
  getAvailableNodes: rule(true, false, 2 * MINUTE),
  getNodenamesByUuid: rule(false, false, 2 * MINUTE),
  isNodeDeleted: rule(false, false, MINUTE),
  getAvailableResource: rule(true, false, 2 * MINUTE),
  updateProviderTree: rule(true, false, 2 * MINUTE),
  getHostIpAddr: rule(true, false, MINUTE),
  setHostEnabled: rule(false, false, MINUTE),
  getInfo: rule(true, false, MINUTE),
  instanceExists: rule(false, false, MINUTE),
  prepareForSpawn: rule(false, true, 10 * MINUTE),
  spawn: rule(true, true, 60 * MINUTE),
  rebuild: rule(false, true, 60 * MINUTE),
  failedSpawnCleanup: rule(false, true, 10 * MINUTE),
  destroy: rule(true, true, 10 * MINUTE),
  powerOff: rule(true, true, 10 * MINUTE),
  powerOn: rule(true, true, 5 * MINUTE),
  reboot: rule(true, true, 10 * MINUTE),
  powerUpdateEvent: rule(false, false, 2 * MINUTE),
  pause: rule(false, true, 5 * MINUTE),
  unpause: rule(false, true, 5 * MINUTE),
  suspend: rule(false, true, 10 * MINUTE),
  resume: rule(false, true, 10 * MINUTE),
  resumeStateOnHostBoot: rule(false, true, 5 * MINUTE),
  plugVifs: rule(false, true, 5 * MINUTE),
  unplugVifs: rule(false, true, 5 * MINUTE),
  instanceOnDisk: rule(false, false, MINUTE),
  deleteInstanceFiles: rule(false, true, 10 * MINUTE),
  cleanupLingeringInstanceResources: rule(false, true, 10 * MINUTE),
  checkInstanceSharedStorageLocal: rule(false, false, MINUTE),
  checkInstanceSharedStorageRemote: rule(false, false, MINUTE),
  checkInstanceSharedStorageCleanup: rule(false, false, MINUTE),
  rescue: rule(false, true, 10 * MINUTE),
  unrescue: rule(false, true, 10 * MINUTE),
  setAdminPassword: rule(false, true, 2 * MINUTE),
  snapshot: rule(false, true, 60 * MINUTE),
  getHostUptime: rule(false, false, MINUTE),
  getConsoleOutput: rule(false, false, MINUTE),
  getDiagnostics: rule(false, false, MINUTE),
  getInstanceDiagnostics: rule(false, false, MINUTE),
  migrateDiskAndPowerOff: rule(false, true, 60 * MINUTE),
  finishMigration: rule(false, true, 60 * MINUTE),
  confirmMigration: rule(false, true, 10 * MINUTE),
  finishRevertMigration: rule(false, true, 60 * MINUTE),
  checkCanLiveMigrateDestination: rule(false, false, 2 * MINUTE),
  checkCanLiveMigrateSource: rule(false, false, 2 * MINUTE),
  cleanupLiveMigrationDestinationCheck: rule(false, false, MINUTE),
  preLiveMigration: rule(false, true, 10 * MINUTE),
  // The timeout ends at the driver's first callback. The driver itself must give up on a guest that writes faster than it
  // copies.
  liveMigration: rule(false, true, 8 * 60 * MINUTE),
  liveMigrationForceComplete: rule(false, true, 5 * MINUTE),
  liveMigrationAbort: rule(false, true, 5 * MINUTE),
  postLiveMigration: rule(false, true, 5 * MINUTE),
  postLiveMigrationAtSource: rule(false, true, 5 * MINUTE),
  postLiveMigrationAtDestination: rule(false, true, 5 * MINUTE),
  rollbackLiveMigrationAtSource: rule(false, true, 5 * MINUTE),
  rollbackLiveMigrationAtDestination: rule(false, true, 10 * MINUTE),
  cleanup: rule(false, true, 10 * MINUTE),
};

export const REQUIRED_METHODS: readonly DriverMethod[] = (
  Object.entries(DRIVER_METHODS) as [DriverMethod, MethodRule][]
)
  .filter(([, { required }]) => required)
  .map(([method]) => method);

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
