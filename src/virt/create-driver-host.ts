import type { DriverContext } from "./context.js";
import type { DriverDefinition, VirtDriver } from "./driver.js";
import { asDriverError, describe } from "./driver-error.js";
import { DriverHost, type DriverHostOptions } from "./driver-host.js";
import { REQUIRED_METHODS } from "./driver-methods.js";
import { VirtDriverMisbehaved } from "./errors.js";
import { LifecycleEvents } from "./lifecycle-events.js";

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
  refuseIncomplete(name, driver);
  return new DriverHost(name, driver, events, context, options);
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
