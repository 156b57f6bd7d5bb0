import { beforeEach, describe, expect, test } from "vitest";
import { FLAVOR, NEED } from "../../../unit/control-plane/conductor/tasks/bench.js";
import { ManageBench } from "../../../unit/control-plane/manage/bench.js";
import { errorResponse } from "../../../unit/placement-client/bench.js";

let bench: ManageBench;

beforeEach(async () => {
  bench = await ManageBench.open();
  await bench.host("devstack1");
  await bench.host("devstack2");
});

/** Creates a server without allocations, and returns its uuid. */
async function lost(host = "devstack2"): Promise<string> {
  const { uuid } = await bench.server(host);
  await bench.unset(uuid);
  return uuid;
}

describe("7.3 errors of Placement", () => {
  const generation = (detail: string) => errorResponse(409, "placement.concurrent_update", detail);

  test("no connection when the allocations are read: code 3", async () => {
    const uuid = await lost();
    bench.placement.inject({ on: "GET /allocations", does: "refuse" });
    const { rc, stdout } = await bench.heal({ instance: uuid, verbose: false });
    expect(rc).toBe(3);
    expect(stdout).toMatch(
      new RegExp(`^Failed to update allocations for consumer ${uuid}\\. Error: Allocation retrieval failed: `),
    );
  });

  test("500 when the allocations are read: code 3", async () => {
    const uuid = await lost();
    bench.placement.inject({ on: "GET /allocations", does: errorResponse(500, "placement.undefined_code", "boom") });
    const { rc, stdout } = await bench.heal({ instance: uuid, verbose: false });
    expect(rc).toBe(3);
    expect(stdout).toMatch(/Allocation retrieval failed: Failed to retrieve allocations for consumer \S+: .*boom/);
  });

  test("no connection when they are written: code 3", async () => {
    const uuid = await lost();
    bench.placement.inject({ on: "PUT /allocations", does: "refuse" });
    expect(await bench.heal({ instance: uuid, verbose: false })).toEqual({
      rc: 3,
      stdout: "Unable to communicate with the Placement API.\n",
    });
  });

  test.each([500, 503, 400])("%i when they are written: code 3, earlier ones stay healed", async (status) => {
    const [first, second] = [await lost(), await lost()];
    bench.placement.inject({ on: "PUT /allocations", does: errorResponse(status, "x", "boom"), skip: 1 });
    const { rc, stdout } = await bench.heal();
    expect(rc).toBe(3);
    expect(stdout).toMatch(
      /Successfully created [^\n]*\nFailed to update allocations for consumer \S+\. Error: boom\n$/,
    );
    expect([await bench.held(first), await bench.held(second)]).toEqual([{ devstack2: NEED }, {}]);
  });

  test("a conflict of the consumer is code 3 and is not retried", async () => {
    const uuid = await lost();
    bench.placement.inject({
      on: "PUT /allocations",
      does: generation("consumer generation conflict - expected null but got 1"),
    });
    bench.placement.mark();
    const { rc, stdout } = await bench.heal({ instance: uuid, verbose: false });
    expect([rc, stdout]).toEqual([
      3,
      `Failed to update allocations for consumer ${uuid}. Error: consumer generation conflict - expected null but got 1\n`,
    ]);
    expect(bench.placement.requests().filter((line) => line.startsWith("PUT"))).toHaveLength(1);
  });

  test("a conflict of a provider is retried, four times at most", async () => {
    const uuid = await lost();
    bench.placement.inject({
      on: "PUT /allocations",
      does: generation("resource provider generation conflict"),
      times: 3,
    });
    expect((await bench.heal({ instance: uuid })).rc).toBe(0);
    await bench.unset(uuid);
    bench.placement.inject({
      on: "PUT /allocations",
      does: generation("resource provider generation conflict"),
      times: 4,
    });
    expect((await bench.heal({ instance: uuid })).rc).toBe(3);
  });

  test("a consumer that a move recreates between two tries with the same generation is not changed: code 3", async () => {
    const { uuid } = await bench.server("devstack2");
    bench.placement.inject({ on: "PUT /allocations", does: generation("resource provider generation conflict") });
    bench.placement.asleep = async () => {
      await bench.unset(uuid);
      await bench.put(uuid, { devstack1: NEED });
    };
    const { rc, stdout } = await bench.heal({ instance: uuid, force: true, verbose: false });
    expect([rc, await bench.held(uuid)]).toEqual([3, { devstack1: NEED }]);
    expect(stdout).toContain("another process changed the consumer after its allocations were read");
  });

  test("insufficient capacity: code 3", async () => {
    const uuid = await lost();
    bench.store.instances.save(uuid, { flavor: { ...FLAVOR, vcpus: 99 } });
    expect((await bench.heal({ instance: uuid })).rc).toBe(3);
    expect(await bench.held(uuid)).toEqual({});
  });
});

describe("7.3 concurrent builds, moves and deletes", () => {
  test.each([
    ["a task", { taskState: "resize_prep" }, "is undergoing a task state transition: resize_prep"],
    ["a new host", { host: "devstack1", node: "devstack1", computeId: 1 }, "was moved meanwhile."],
  ] as const)("%s between read and write: nothing is written", async (_what, changes, message) => {
    const uuid = await lost();
    bench.before.set("instance_get", () => void bench.store.instances.save(uuid, changes));
    const { rc, stdout } = await bench.heal({ instance: uuid });
    expect([rc, await bench.held(uuid)]).toEqual([4, {}]);
    expect(stdout).toContain(`Instance ${uuid} ${message}\n`);
  });

  test("deleted between read and write: a deleted instance gets no allocations", async () => {
    const uuid = await lost();
    bench.before.set("instance_get", () => void bench.store.instances.destroy(uuid));
    expect((await bench.heal({ instance: uuid })).stdout).toContain(`Instance ${uuid} was deleted meanwhile.\n`);
    expect(await bench.held(uuid)).toEqual({});
  });

  test("deleted during the write: the written allocations are removed", async () => {
    const uuid = await lost();
    bench.placement.inject({ on: "PUT /allocations", does: () => void bench.store.instances.destroy(uuid) });
    await bench.heal({ instance: uuid });
    expect(await bench.held(uuid)).toEqual({});
  });

  test("healed by another process meanwhile: code 3, nothing is doubled", async () => {
    const uuid = await lost();
    bench.placement.inject({ on: "PUT /allocations", does: () => bench.put(uuid, { devstack2: NEED }) });
    expect((await bench.heal({ instance: uuid })).rc).toBe(3);
    expect(await bench.held(uuid)).toEqual({ devstack2: NEED });
  });

  test("killed at any request: a second run completes the first", async () => {
    for (let request = 0; request < 8; request += 1) {
      for (const does of ["hang", "hang-after"] as const) {
        const uuids = [await lost("devstack1"), await lost("devstack2")];
        bench.placement.inject({ on: "*", does, skip: request });
        // The request of a killed process never returns.
        void bench.heal();
        await new Promise((resolve) => setImmediate(resolve));
        bench.placement.heal();
        expect((await bench.heal()).rc, `${does} ${request}`).toBeOneOf([0, 4]);
        expect(await Promise.all(uuids.map((uuid) => bench.held(uuid)))).toEqual([
          { devstack1: NEED },
          { devstack2: NEED },
        ]);
        for (const uuid of uuids) {
          bench.store.instances.destroy(uuid);
          await bench.unset(uuid);
        }
      }
    }
  });
});
