import { startCluster } from "compute-agent/cluster";
import { afterAll, beforeAll, expect, test } from "vitest";

let cloud;
beforeAll(async () => {
  cloud = await startCluster({ hosts: 2 });
});
afterAll(() => cloud?.stop());

test("a driver that fails is set, listed and cleared", async () => {
  await cloud.faults.set("devstack1", "driver.spawn=fail:once");
  expect(await cloud.faults.list("devstack1")).toEqual(["driver.spawn=fail:once"]);
  await cloud.faults.clear("devstack1");
  expect(await cloud.faults.list("devstack1")).toEqual([]);
});

test("nothing is accounted wrong", async () => {
  await cloud.settled();
  expect(cloud.hostNames).toEqual(["devstack1", "devstack2"]);
  expect(await cloud.audit()).toEqual([]);
});
