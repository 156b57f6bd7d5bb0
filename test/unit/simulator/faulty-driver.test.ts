import { expect, test, vi } from "vitest";
import { DRIVER_POINTS, driverFaults } from "../../../src/faults/fault-injection.js";
import { FaultSet } from "../../../src/faults/fault-set.js";
import { faultTable, parseFaultRule } from "../../../src/faults/faults.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";
import { createDriverHost } from "../../../src/virt/create-driver-host.js";
import { defineDriver } from "../../../src/virt/index.js";
import { watchDriver } from "../../fixtures/invariants/watch-driver.js";
import { faultsButDriver, faultyDriver } from "../../simulator/faulty-driver.js";
import { contextOf, driverWith, instanceOf, spawnOptions } from "../virt/fixtures.js";

async function setUp(faultRule: string) {
  const runtime = createVirtualRuntime();
  const faults = new FaultSet(runtime);
  faults.set(parseFaultRule(faultRule, faultTable(DRIVER_POINTS)));
  const spawn = vi.fn(async () => {});
  const onChange = vi.fn(async () => {});
  const definition = defineDriver({ name: "d", apiVersion: "1.0", create: () => driverWith({ spawn }) });
  const watched = watchDriver(faultyDriver(definition, faults), { host: "h1", listed: () => {}, changes: onChange });
  const host = await createDriverHost(watched, contextOf(runtime), { point: driverFaults(faultsButDriver(faults)) });
  return { runtime, spawn, onChange: onChange, call: () => host.spawn(instanceOf(), spawnOptions) };
}

test("who watches a driver is told of a call before the driver hangs in it", async () => {
  const { runtime, spawn, onChange, call } = await setUp("driver.spawn=hang:20s:once");
  const ended = call();
  await runtime.advance(1_000);
  expect(onChange).toHaveBeenCalledOnce();
  expect(spawn).not.toHaveBeenCalled();
  await runtime.advance(20_000);
  await ended;
  expect(spawn).toHaveBeenCalledOnce();
});

test("a fault of the driver comes about once", async () => {
  const { spawn, call } = await setUp("driver.spawn=fail:once");
  await expect(call()).rejects.toThrow(/driver\.spawn failed/);
  await call();
  expect(spawn).toHaveBeenCalledOnce();
});
