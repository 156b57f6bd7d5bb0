import type { DriverCallOptions } from "../virt/driver-call.js";
import { DRIVER_ERRORS } from "../virt/driver-error.js";
import { DRIVER_METHODS, type DriverMethod } from "../virt/driver-methods.js";
import type { FaultPoint } from "./fault-rules.js";
import { type ChangingFaults, FaultInjected } from "./faults.js";

/** `driver.spawn` and so on; `fail` comes before the driver is called, `lose-answer` after it has done its work. */
export const DRIVER_POINTS: readonly FaultPoint[] = (Object.keys(DRIVER_METHODS) as DriverMethod[])
  // The core asks for a constant, and cannot wait.
  .filter((method) => method !== "getHostIpAddr")
  .map((method) => ({
    point: pointOf(method),
    kinds: ["fail", "hang", "slow", "lose-answer"],
    errors: DRIVER_ERRORS,
  }));

/** For {@link DriverCallOptions.point}. */
export function driverFaults(faults: ChangingFaults): NonNullable<DriverCallOptions["point"]> {
  // Each call has a signal of its own. Made for the first, which most hosts never have.
  let losing: WeakSet<AbortSignal> | undefined;
  return async (method, when, signal) => {
    const point = pointOf(method);
    if (when === "after") {
      if (losing?.has(signal)) {
        throw new FaultInjected(point);
      }
    } else if (faults.peek(point)?.kind === "lose-answer") {
      faults.decide(point);
      losing ??= new WeakSet();
      losing.add(signal);
    } else {
      await faults.hit(point, signal);
    }
  };
}

function pointOf(method: DriverMethod): string {
  return `driver.${method}`;
}
