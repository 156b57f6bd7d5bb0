import { describe, expect, test, vi } from "vitest";
import { DRIVER_POINTS, driverFaults } from "../../../src/faults/fault-injection.js";
import { FaultSet } from "../../../src/faults/fault-set.js";
import { FaultInjected, faultTable, parseFaultRule } from "../../../src/faults/faults.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";
import { createDriverHost } from "../../../src/virt/create-driver-host.js";
import { DRIVER_METHODS } from "../../../src/virt/driver-methods.js";
import { BuildAbortException, defineDriver, VirtDriverTimeout } from "../../../src/virt/index.js";
import { contextOf, driverWith, instanceOf, spawnOptions } from "../virt/fixtures.js";

const instance = instanceOf();

async function setUp(faultRule: string) {
  const runtime = createVirtualRuntime();
  const faults = new FaultSet(runtime);
  const spawn = vi.fn(async () => {});
  const definition = defineDriver({ name: "d", apiVersion: "1.0", create: () => driverWith({ spawn }) });
  const host = await createDriverHost(definition, contextOf(runtime), {
    point: driverFaults(faults),
    timeouts: { spawn: 60_000 },
    grace: 100,
  });
  faults.set(parseFaultRule(faultRule, faultTable(DRIVER_POINTS)));
  const outcome = () =>
    host.spawn(instance, spawnOptions).then(
      () => "done",
      (error: unknown) => error,
    );
  return { runtime, faults, spawn, outcome };
}

describe("9.4 driver faults", () => {
  test("every method has a point, except the one that cannot wait", () => {
    expect(DRIVER_POINTS.map(({ point }) => point).sort()).toEqual(
      Object.keys(DRIVER_METHODS)
        .filter((method) => method !== "getHostIpAddr")
        .map((method) => `driver.${method}`)
        .sort(),
    );
  });

  test("fail: the driver is not called; once", async () => {
    const { spawn, outcome } = await setUp("driver.spawn=fail:once");
    expect(await outcome()).toBeInstanceOf(FaultInjected);
    expect(spawn).not.toHaveBeenCalled();
    expect(await outcome()).toBe("done");
  });

  test("fail with a class: the contract's own error", async () => {
    const { outcome } = await setUp("driver.spawn=fail:BuildAbortException");
    expect(await outcome()).toBeInstanceOf(BuildAbortException);
  });

  test("lose-answer: the driver has done its work, and the call fails", async () => {
    const { spawn, outcome } = await setUp("driver.spawn=lose-answer:once");
    expect(await outcome()).toBeInstanceOf(FaultInjected);
    expect(spawn).toHaveBeenCalledOnce();
    expect(await outcome()).toBe("done");
  });

  test("slow: the driver is called later", async () => {
    const { runtime, spawn, outcome } = await setUp("driver.spawn=slow:2s");
    const ended = outcome();
    await runtime.advance(1_999);
    expect(spawn).not.toHaveBeenCalled();
    expect(await runtime.runUntil(ended)).toBe("done");
  });

  test("hang beyond the timeout: VirtDriverTimeout, and the driver is never called", async () => {
    const { runtime, spawn, outcome } = await setUp("driver.spawn=hang:once");
    const ended = outcome();
    await runtime.advance(60_000);
    expect(await ended).toBeInstanceOf(VirtDriverTimeout);
    expect(spawn).not.toHaveBeenCalled();
  });
});
