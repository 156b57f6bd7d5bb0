import { describe, expect, test } from "vitest";
import { createDriverHost } from "../../../src/virt/create-driver-host.js";
import type { DriverOutcome } from "../../../src/virt/driver-call.js";
import { DRIVER_ERRORS } from "../../../src/virt/driver-error.js";
import type { DriverHost } from "../../../src/virt/driver-host.js";
import * as errors from "../../../src/virt/errors.js";
import { VirtDriverNotReady } from "../../../src/virt/index.js";
import { driverWith, hostOf, instanceOf, UUID, virtualContext } from "./fixtures.js";

const { VirtDriverMisbehaved, VirtDriverTimeout } = errors;
/** Makes an object look like a promise. */
const THENABLE: string = "then";
const instance = instanceOf();
describe("broken drivers", () => {
  test.each<[string, Readonly<Record<string, unknown>>, (host: DriverHost) => Promise<unknown>, RegExp]>([
    [
      "throws no Error",
      { powerOn: () => Promise.reject("oops") },
      (host) => host.powerOn(instance),
      /powerOn must throw Errors only, but it threw "oops"/,
    ],
    [
      "throws undefined at once",
      {
        powerOn: () => {
          throw undefined;
        },
      },
      (host) => host.powerOn(instance),
      /powerOn must throw Errors only, but it threw undefined/,
    ],
  ])("a driver that %s", async (_, changes, act, message) => {
    const outcomes: DriverOutcome[] = [];
    const { host } = await hostOf(changes, { observe: (_method, _ms, outcome) => outcomes.push(outcome) });
    const error = await act(host).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(VirtDriverMisbehaved);
    expect(String(error)).toMatch(message);
    expect(String(error)).toContain("driver broken");
    expect(outcomes).toEqual(["misbehaved"]);
  });

  test("a driver that hangs is aborted, then abandoned, and its late result is dropped", async () => {
    let aborted = false;
    let resolveListing: (value: unknown) => void = () => {};
    const outcomes: DriverOutcome[] = [];
    const { host, runtime } = await hostOf(
      {
        listInstanceUuids: ({ signal }: { signal: AbortSignal }) => {
          signal.addEventListener("abort", () => {
            aborted = true;
          });
          return new Promise((resolve) => {
            resolveListing = resolve;
          });
        },
      },
      { timeouts: { listInstanceUuids: 1000 }, grace: 500, observe: (_method, _ms, outcome) => outcomes.push(outcome) },
    );
    const listing = host.listInstanceUuids().catch((error: unknown) => error);
    await runtime.advance(1000);
    expect(aborted).toBe(true);
    expect(outcomes).toEqual([]);
    await runtime.advance(500);
    const error = await listing;
    expect(error).toBeInstanceOf(VirtDriverTimeout);
    expect(String(error)).toMatch(/driver broken: listInstanceUuids must settle within 1000 ms/);
    expect(outcomes).toEqual(["timeout"]);
    resolveListing([UUID]);
    await runtime.advance(0);
    expect(runtime.logs.map(({ message }) => message)).toEqual([
      "driver broken: listInstanceUuids succeeded after it was abandoned; its result is dropped",
    ]);
  });

  test("the activity of an abandoned driver is logged with its method and its guest", async () => {
    let fail: (error: Error) => void = () => {};
    const { host, runtime } = await hostOf(
      { powerOff: () => new Promise((_, reject) => (fail = reject)) },
      { timeouts: { powerOff: 1000 }, grace: 500 },
    );
    const stopping = host.powerOff(instance).catch((error: unknown) => error);
    await runtime.advance(1500);
    expect(await stopping).toBeInstanceOf(VirtDriverTimeout);
    const late = new Error("too late");
    fail(late);
    await runtime.advance(0);
    expect(runtime.logs).toMatchObject([
      {
        message: "driver broken: powerOff failed after it was abandoned; its result is dropped",
        fields: { driver: "broken", method: "powerOff", instance: UUID, err: late },
      },
    ]);
  });

  test("a driver that emits events forever neither delays a call nor delivers events after its end", async () => {
    let emitting = true;
    let eventCount = 0;
    const { host, runtime, emit } = await hostOf({});
    host.setLifecycleListener(() => void eventCount++);
    const event = () => ({ timestamp: runtime.clock.now(), uuid: UUID, name: "vm1", transition: "started" });
    const flood = (async () => {
      for (let round = 0; emitting && round < 1_000; round += 1) {
        emit(event());
        await null;
      }
    })();
    expect(await host.getAvailableNodes()).toEqual(["devstack1"]);
    expect(eventCount).toBeGreaterThan(0);
    await host.cleanupHost();
    const before = eventCount;
    emit(event());
    emitting = false;
    await flood;
    await runtime.advance(0);
    expect(eventCount).toBe(before);
  });

  test("a driver that observes its signal is not waited for any longer", async () => {
    const { host, runtime } = await hostOf(
      {
        powerOff: (_: unknown, { signal }: { signal: AbortSignal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason));
          }),
      },
      { timeouts: { powerOff: 1000 } },
    );
    const stopping = host.powerOff(instance).catch((error: unknown) => error);
    await runtime.advance(1000);
    expect(await stopping).toBeInstanceOf(VirtDriverTimeout);
    expect(runtime.world.planned).toBe(0);
  });

  test("a driver that settles twice counts once", async () => {
    const { host } = await hostOf({
      getAvailableNodes: () => ({
        [THENABLE]: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => {
          resolve(["first"]);
          resolve(["second"]);
          reject(new Error("third"));
        },
      }),
    });
    expect(await host.getAvailableNodes()).toEqual(["first"]);
  });

  test("errors of the contract are also recognised by name", async () => {
    const foreign = Object.assign(new Error("not yet"), { name: "VirtDriverNotReady" });
    const { host } = await hostOf({ getAvailableNodes: () => Promise.reject(foreign) });
    const error = await host.getAvailableNodes().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(VirtDriverNotReady);
    expect(error).toMatchObject({ message: "not yet", cause: foreign });
  });

  test("each error of the contract that a driver may throw is recognised by name", () => {
    const own = new Set([
      "VirtError",
      "VirtDriverMisbehaved",
      "VirtDriverCrashed",
      "VirtDriverTimeout",
      "InvalidDriver",
    ]);
    const names = Object.values(errors).map((each) => Reflect.construct(each, []).name as string);
    expect([...DRIVER_ERRORS].sort()).toEqual(names.filter((name) => !own.has(name)).sort());
  });

  test("other errors are passed on unchanged", async () => {
    const own = new TypeError("a bug");
    const { host } = await hostOf({ powerOn: () => Promise.reject(own) });
    await expect(host.powerOn(instance)).rejects.toBe(own);
  });

  test("a definition whose create returns no driver, or an incomplete one", async () => {
    const { context } = virtualContext();
    const make = (create: () => unknown) =>
      createDriverHost({ name: "broken", apiVersion: "1.0", create: create as never }, context);
    await expect(make(() => undefined)).rejects.toThrow(
      /create must return a driver \(an object\), but found undefined/,
    );
    await expect(make(() => driverWith({ spawn: undefined, destroy: 1 }))).rejects.toThrow(/spawn, destroy is missing/);
    await expect(make(() => Promise.reject("no"))).rejects.toThrow(/create must throw Errors only/);
    const thrown = make(() => {
      throw new TypeError("x is not a function");
    });
    await expect(thrown).rejects.toThrow(/^driver broken: create failed: x is not a function \(\/.*:\d+:\d+\)$/);
    await expect(thrown).rejects.toMatchObject({ name: "TypeError" });
    await expect(make(() => driverWith({ capabilities: { supportEvacuate: true } }))).rejects.toThrow(
      /found supportEvacuate/,
    );
    await expect(make(() => driverWith({ capabilities: { supportsEvacuate: 1 } }))).rejects.toThrow(
      /driver .*: create must return a driver whose capabilities are true or false, but supportsEvacuate is \d/,
    );
  });
});
