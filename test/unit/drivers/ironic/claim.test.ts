import { describe, expect, test } from "vitest";
import { bareMetal, INSTANCE, ironicDriver } from "./support/driver.js";
import { FakeIronic, fault, LOCKED } from "./support/fake-ironic.js";
import { BY_INSTANCE, NODE, started } from "./support/started.js";

describe("8.2 a claim", () => {
  const OTHER = "99999999-2222-4333-8444-555555555555";

  test.each([
    ["has another instance", { instance_uuid: OTHER }],
    ["is in maintenance", { maintenance: true }],
    ["is being cleaned", { provision_state: "cleaning" }],
    ["has an unknown power state", { power_state: null }],
  ])("of a node that %s is given to another host, and nothing is written", async (_, changes) => {
    const { driver, ironic } = await started(changes);
    await expect(driver.prepareForSpawn(bareMetal(NODE))).rejects.toMatchObject({
      name: "ComputeResourcesUnavailable",
    });
    expect(ironic.observedRequests.every(({ method }) => method === "GET")).toBe(true);
  });

  const losing = {
    "lost to another": fault(409, `Node ${NODE} is associated with instance ${OTHER}.`),
    "of a node that stays locked": LOCKED,
    rejected: fault(400, "no"),
  };
  test.each(Object.entries(losing))(
    "%s is given to another host, but aborts the build as upstream's",
    async (_, response) => {
      for (const [quirks, name] of [
        [[], "ComputeResourcesUnavailable"],
        [["ironic-lost-claim-aborts"], "BuildAbortException"],
      ] as const) {
        const { driver, ironic } = await started({}, {}, [...quirks]);
        ironic.fault = ({ method }) => (method === "PATCH" ? response : undefined);
        await expect(driver.prepareForSpawn(bareMetal(NODE))).rejects.toMatchObject({ name });
        await driver.failedSpawnCleanup(bareMetal(NODE));
        expect(ironic.observedRequests.filter(({ method }) => method === "PATCH").length).toBeLessThanOrEqual(2);
      }
    },
  );

  test("of a node that was locked briefly is retried once", async () => {
    const { driver, ironic, node } = await started();
    let locked = 1;
    ironic.fault = ({ method }) => {
      if (method !== "PATCH" || locked === 0) {
        return undefined;
      }
      locked -= 1;
      return LOCKED;
    };
    await driver.prepareForSpawn(bareMetal(NODE));
    expect(node.instance_uuid).toBe(INSTANCE);
  });

  test("whose response was lost is found in the node", async () => {
    const { driver, ironic, node } = await started();
    ironic.fault = ({ method }) => (method === "PATCH" ? "answer lost" : undefined);
    await driver.prepareForSpawn(bareMetal(NODE));
    expect(node.instance_uuid).toBe(INSTANCE);
    expect(ironic.observedRequests.filter(({ method }) => method === "PATCH")).toHaveLength(1);
  });

  test("of an instance that has another node aborts the build", async () => {
    const { driver, ironic } = await started();
    const other = ironic.add({ instance_uuid: INSTANCE });
    await expect(driver.prepareForSpawn(bareMetal(NODE))).rejects.toMatchObject({
      name: "BuildAbortException",
      message: expect.stringContaining(other.uuid),
    });
  });

  test("is undone once, and undoing it again does nothing", async () => {
    const { driver, ironic, node } = await started();
    await driver.prepareForSpawn(bareMetal(NODE));
    await driver.failedSpawnCleanup(bareMetal(NODE));
    expect(node.instance_uuid).toBeNull();
    const before = ironic.observedRequests.length;
    await driver.failedSpawnCleanup(bareMetal(NODE));
    expect(ironic.requests().slice(before)).toEqual([BY_INSTANCE]);
  });

  test("of ten claimants of one node exactly one succeeds", async () => {
    const ironic = new FakeIronic();
    ironic.add();
    const { driver } = await ironicDriver({ ironic });
    const uuid = (at: number) => `11111111-0000-4000-8000-00000000000${at}`;
    const claims = Array.from({ length: 10 }, (_, at) => driver.prepareForSpawn(bareMetal(NODE, { uuid: uuid(at) })));
    const outcomes = await Promise.allSettled(claims);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") {
        expect(outcome.reason.name).toBe("ComputeResourcesUnavailable");
      }
    }
  });
});
