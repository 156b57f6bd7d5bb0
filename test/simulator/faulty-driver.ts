import { driverFaults } from "../../src/faults/fault-injection.js";
import type { ChangingFaults } from "../../src/faults/faults.js";
import { DRIVER_METHODS, type DriverMethod } from "../../src/virt/driver-methods.js";
import { type DriverDefinition, defineDriver, type VirtDriver } from "../../src/virt/index.js";

/**
 * A driver with injected failures and hangs. It wraps the watched driver, so that the watch sees a call when the agent
 * makes it.
 * After a hang of a minute, others may have changed the server, for which the agent is not responsible.
 */
export function faultyDriver(definition: DriverDefinition, faults: ChangingFaults): DriverDefinition {
  const point = driverFaults(faults);
  return defineDriver({ ...definition, create: async (context) => faulty(await definition.create(context), point) });
}

function faulty(driver: VirtDriver, point: ReturnType<typeof driverFaults>): VirtDriver {
  return new Proxy(driver, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") {
        return value;
      }
      if (!(name in DRIVER_METHODS) || name === "getHostIpAddr") {
        return value.bind(target);
      }
      const method = name as DriverMethod;
      return async (...args: readonly unknown[]): Promise<unknown> => {
        const signal = signalIn(args) ?? new AbortController().signal;
        await point(method, "before", signal);
        const result: unknown = await Reflect.apply(value, target, args);
        await point(method, "after", signal);
        return result;
      };
    },
  });
}

function signalIn(args: readonly unknown[]): AbortSignal | undefined {
  const { signal } = (args.at(-1) ?? {}) as { readonly signal?: AbortSignal };
  return signal;
}

/** Returns all faults except those of drivers. */
export function faultsButDriver(faults: ChangingFaults): ChangingFaults {
  const isDriver = (point: string): boolean => point.startsWith("driver.");
  return {
    hit: async (point, signal) => (isDriver(point) ? undefined : faults.hit(point, signal)),
    decide: (point) => (isDriver(point) ? undefined : faults.decide(point)),
    peek: (point) => (isDriver(point) ? undefined : faults.peek(point)),
    onChange: (listener) => faults.onChange(listener),
  };
}
