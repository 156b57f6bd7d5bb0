import type { DriverDefinition } from "../../virt/driver.js";
import { CREATE_TIMEOUT } from "../../virt/driver-call.js";
import { type LoadedDriver, loadDriver } from "../../virt/load-driver.js";
import { BUILT_IN_DRIVERS, NOVA_DRIVERS } from "../agent/built-in-drivers.js";
import type { DriverGuard } from "./driver-guard.js";

/**
 * Loads a driver by the value of `compute_driver`; one that is not built in runs under the guard.
 * @param limit milliseconds that loading it may take; 0: no limit
 * @throws {InvalidDriver} {@link VirtDriverTimeout}
 */
export async function loadContained(
  name: string,
  cwd: string,
  guard: DriverGuard | null,
  limit = CREATE_TIMEOUT,
): Promise<DriverDefinition> {
  const load = (): Promise<LoadedDriver> =>
    loadDriver(name, { builtIns: BUILT_IN_DRIVERS, novaDrivers: NOVA_DRIVERS, cwd });
  if (guard === null || Object.hasOwn(BUILT_IN_DRIVERS, name)) {
    return (await load()).driver;
  }
  const { driver, file } = await guard.load(name, load, limit);
  return guard.open().over(driver, file);
}
