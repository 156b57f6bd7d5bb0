import { didYouMean } from "../runtime/error-messages.js";
import * as errors from "./errors.js";
import { POWER_STATES, type PowerState } from "./types.js";

type VirtErrorClass = new (message: string, options?: ErrorOptions) => errors.VirtError;

/** Errors of the contract by name, since a plugin may bring its own copy of this package, or be plain JavaScript. */
const BY_NAME: ReadonlyMap<string, VirtErrorClass> = new Map<string, VirtErrorClass>([
  ["VirtDriverNotReady", errors.VirtDriverNotReady],
  ["NotImplementedError", errors.NotImplemented],
  ["InstanceNotFound", errors.GuestNotFound],
  ["InstanceExists", errors.InstanceExists],
  ["InstanceNotRunning", errors.InstanceNotRunning],
  ["SetAdminPasswdNotSupported", errors.SetAdminPasswdNotSupported],
  ["InstanceAgentNotEnabled", errors.InstanceAgentNotEnabled],
  ["InstancePowerOffFailure", errors.InstancePowerOffFailure],
  ["ComputeResourcesUnavailable", errors.ComputeResourcesUnavailable],
  ["BuildAbortException", errors.BuildAbortException],
  ["ImageNotFound", errors.ImageNotFound],
  ["ImageNotActive", errors.ImageNotActive],
  ["ImageUnacceptable", errors.ImageUnacceptable],
  ["GlanceConnectionFailed", errors.GlanceConnectionFailed],
  ["EndpointNotFound", errors.ImageServiceNotFound],
  ["VirtualInterfaceCreateException", errors.VirtualInterfaceCreateException],
  ["PortBindingFailed", errors.PortBindingFailed],
  ["VirtualInterfacePlugException", errors.VirtualInterfacePlugException],
  ["PciDeviceNotFoundById", errors.PciDeviceNotFound],
  ["DeviceDetachFailed", errors.DeviceDetachFailed],
  ["InstanceFaultRollback", errors.InstanceFaultRollback],
  ["MigrationPreCheckError", errors.MigrationPreCheckError],
  ["HostEpochOutdated", errors.HostEpochOutdated],
  ["InvalidConfiguration", errors.InvalidConfiguration],
  ["ReshapeNeeded", errors.ReshapeNeeded],
  ["ReshapeFailed", errors.ReshapeFailed],
]);

/** The names of the errors that the contract allows. */
export const DRIVER_ERRORS: readonly string[] = [...BY_NAME.keys()];

/** Converts a thrown value to an error that the core knows: the contract's error by class or name; others unchanged. */
export function asDriverError(thrown: unknown, driver: string, method: string): Error {
  if (thrown instanceof errors.VirtError) {
    return thrown;
  }
  if (!(thrown instanceof Error)) {
    return new errors.VirtDriverMisbehaved(driver, method, "throw Errors only", `it threw ${describe(thrown)}`, {
      cause: thrown,
    });
  }
  const known = BY_NAME.get(thrown.name);
  return known ? new known(thrown.message, { cause: thrown }) : thrown;
}

/** Returns `nostate` for a missing guest. @throws any other error */
export function nostateWithoutGuest(error: unknown): PowerState {
  if (error instanceof errors.GuestNotFound) {
    return POWER_STATES.nostate;
  }
  throw error;
}

/** Formats a value for a message, shortened. Never throws. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) {
    return String(value);
  }
  if (typeof value === "number") {
    // JSON renders NaN and Infinity as null.
    return String(value);
  }
  if (typeof value === "function") {
    return "a function";
  }
  if (typeof value === "bigint" || typeof value === "symbol") {
    return String(value);
  }
  try {
    const text = JSON.stringify(value) ?? typeof value;
    return text.length > 100 ? `${text.slice(0, 100)}…` : text;
  } catch {
    return `an unprintable ${typeof value}`;
  }
}

/** Formats a thrown value as one line. */
export function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : describe(error);
}

/** Returns `: did you mean suspend?`, or an empty string if no known name is similar. */
export function suggest(name: string, known: Iterable<string>): string {
  const nearest = didYouMean(name, known);
  return nearest === undefined ? "" : `: did you mean ${nearest}?`;
}

/** Returns `/x/index.js:3:5` for the first frame with a path, outside of `node:` modules. */
export function firstPlace(frames: readonly string[]): string | undefined {
  for (const frame of frames) {
    const place = frame.includes("node:") ? null : /[\s(](?:file:\/\/)?(\/[^()]+:\d+:\d+)\)?$/.exec(frame);
    if (place?.[1] !== undefined) {
      return place[1];
    }
  }
  return undefined;
}

/** Returns the location at which an error was created. */
export function placeOf(error: unknown): string | undefined {
  return error instanceof Error ? firstPlace((error.stack ?? "").split("\n").slice(1)) : undefined;
}
