import { didYouMean } from "../runtime/error-messages.js";
import type { DriverContext, DriverHostDeps } from "./context.js";
import type { DriverDefinition, VirtDriver } from "./driver.js";
import { CREATE_TIMEOUT, waitFor, waitText } from "./driver-call.js";
import { asDriverError, describe, placeOf } from "./driver-error.js";
import { DriverHost, type DriverHostOptions } from "./driver-host.js";
import { DRIVER_METHODS, membersOf, REQUIRED_METHODS } from "./driver-methods.js";
import { LifecycleEvents } from "./driver-output.js";
import { VirtDriverMisbehaved, VirtDriverTimeout, VirtError } from "./errors.js";

/**
 * Creates the driver of a definition for one host.
 * @throws the error of `create`, or {@link VirtDriverMisbehaved}
 */
export async function createDriverHost(
  definition: DriverDefinition,
  context: DriverHostDeps,
  options: DriverHostOptions = {},
): Promise<DriverHost> {
  const { name } = definition;
  const events = new LifecycleEvents(name, context.logger);
  let driver: VirtDriver;
  try {
    const { images: _images, ports: _ports, ...deps } = context;
    const full: DriverContext = { ownAdapter: asIs, ownDoor: asIs, emitEvent: events.emit, ...deps };
    driver = await withinLimit(name, context, options.createTimeout ?? CREATE_TIMEOUT, async () =>
      definition.create(Object.freeze(full)),
    );
  } catch (thrown) {
    throw namingDriver(asDriverError(thrown, name, "create"), name);
  }
  assertComplete(name, driver);
  return new DriverHost(name, driver, events, context, options);
}

/** Adds the driver's name to the message of an error outside the contract. Preserves `name`, which decides the exit code. */
function namingDriver(error: Error, driver: string): Error {
  if (error instanceof VirtError) {
    return error;
  }
  const place = placeOf(error);
  const text = `driver ${driver}: create failed: ${error.message}${place === undefined ? "" : ` (${place})`}`;
  return Object.assign(new Error(text, { cause: error }), { name: error.name });
}

/** Returns the adapter unchanged: only the contract tests instrument adapters. */
function asIs<T>(adapter: T): T {
  return adapter;
}

/** @throws {VirtDriverTimeout} */
function withinLimit<T>(
  driver: string,
  { timers, logger }: Pick<DriverContext, "timers" | "logger">,
  limit: number,
  create: () => Promise<T>,
): Promise<T> {
  const awaited = { driver, method: "create", limit };
  return new Promise((resolve, reject) => {
    const end = waitFor(timers, {
      limit,
      onProgress: (passed) => logger.info(`waiting for ${waitText(awaited, passed)}`, { driver, method: "create" }),
      tooLong: () => reject(new VirtDriverTimeout(driver, "create", limit)),
    });
    create().then(resolve, reject).finally(end);
  });
}

function assertComplete(name: string, driver: unknown): void {
  if (typeof driver !== "object" || driver === null) {
    throw new VirtDriverMisbehaved(name, "create", "return a driver (an object)", `found ${describe(driver)}`);
  }
  assertMethodNames(name, driver);
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

/**
 * Rejects misspelt method names: the agent would never call such a method.
 * @throws {VirtDriverMisbehaved}
 */
function assertMethodNames(name: string, driver: object): void {
  const has = (method: string): boolean => typeof Reflect.get(driver, method) === "function";
  const lacking = Object.keys(DRIVER_METHODS).filter((method) => !has(method));
  for (const member of membersOf(driver)) {
    const meant = member in DRIVER_METHODS || !has(member) ? undefined : didYouMean(member, lacking);
    if (meant !== undefined) {
      throw new VirtDriverMisbehaved(
        name,
        "create",
        "return a driver whose methods are spelt as in the contract",
        `found ${member}, which the agent never calls: did you mean ${meant}? (a method of the driver's own needs another name)`,
      );
    }
  }
}
