import { describe, expect, test } from "vitest";
import type { AgentContext } from "../../../../../src/agent/context.js";
import {
  finishSource,
  flavorsOf,
  heldHere,
  onTree,
  revertToSource,
} from "../../../../../src/agent/operations/flow/move-allocations.js";
import { deleteMigration } from "../../../../../src/agent/operations/flow/release-allocations.js";
import { createAllocationError } from "../../../../../src/placement-client/errors.js";
import type { Migration } from "../../../../../src/records/index.js";
import { aComputeNode, aMigration, anInstance } from "../../../../fixtures/records.js";
import { CONSUMER_CONFLICT, inventoryOf } from "../../../placement-client/bench.js";
import { CHILD, D, I, M, NAMES, NFS, S, twoHosts } from "../../../placement-client/two-hosts.js";
import {
  type Case,
  CONTEXT,
  endedMove,
  type Held,
  hold as holdOn,
  NEW,
  NEW_AMOUNTS,
  OLD,
  OLD_AMOUNTS,
} from "../../support/ended-move.js";

const hosts = twoHosts();
const setUp = (options?: Case) => endedMove(hosts, options);
const hold = (consumer: string, held: Held) => holdOn(hosts, consumer, held);

async function split(): Promise<void> {
  await hold(M, { [S]: OLD_AMOUNTS });
  await hold(I, { [D]: NEW_AMOUNTS });
}
const doubled = () => hold(I, { [S]: OLD_AMOUNTS, [D]: NEW_AMOUNTS });
const both = async () => ({ instance: await hosts.held(I), migration: await hosts.held(M) });
const requests = () => hosts.bench.requests(NAMES);
const writes = () => requests().filter((request) => !request.startsWith("GET "));
/** The request ids of all requests to Placement. */
const ids = () => new Set(hosts.bench.sent.map(({ headers }) => headers["x-openstack-request-id"]));

describe("split: the migration's consumer holds the source's half", () => {
  test("6.0 confirmed: all of it goes, and what the instance holds stays", async () => {
    await split();
    const { services, move } = setUp();
    await finishSource(services, move, CONTEXT);
    expect(ids()).toEqual(new Set(["req-move"]));
    expect(await both()).toEqual({ instance: { [D]: NEW_AMOUNTS }, migration: {} });
  });

  test("6.0 reverted: it is the instance's again, which loses the destination's", async () => {
    await split();
    const { services, move } = setUp();
    await revertToSource(services, move, CONTEXT);
    expect(ids()).toEqual(new Set(["req-move"]));
    expect(await both()).toEqual({ instance: { [S]: OLD_AMOUNTS }, migration: {} });
  });

  test.each([
    ["done", { [S]: OLD_AMOUNTS, [D]: OLD_AMOUNTS }],
    ["completed", { [S]: OLD_AMOUNTS }],
  ] as const)(
    "V15 what it keeps on a host that it was evacuated from, which is %s, is that host's to take",
    async (status, held) => {
      await hold(M, { [S]: OLD_AMOUNTS });
      await hold(I, { [D]: OLD_AMOUNTS, [NFS]: NEW_AMOUNTS });
      const others = [{ sourceCompute: "devstack2", destCompute: "devstack1", status }];
      const { services, move } = setUp({ others, migration: { destCompute: "devstack3", destNode: "devstack3" } });
      await revertToSource(services, move, CONTEXT);
      expect(await both()).toEqual({ instance: held, migration: {} });
    },
  );

  test.each([
    ["has no row any more", () => null],
    ["is deleted", () => ({ deleted: 5 })],
    ["says deleted, as it does before its allocations go", () => ({ vmState: "deleted" as const })],
  ])(
    "V23 reverted while the instance %s: both halves go instead, also one that was claimed since",
    async (_, stored) => {
      await split();
      const { services, move } = setUp({ stored });
      await revertToSource(services, move, CONTEXT);
      expect(writes()).toEqual(["PUT /allocations/M 1.28", "DELETE /allocations/I"]);
      expect(ids()).toEqual(new Set(["req-move"]));
      expect(await both()).toEqual({ instance: {}, migration: {} });
    },
  );

  test("resurrect-deleted-allocations: what was claimed for it since stays", async () => {
    await split();
    const { services, move } = setUp({ quirks: ["resurrect-deleted-allocations"], stored: () => null });
    await revertToSource(services, move, CONTEXT);
    expect(await both()).toEqual({ instance: { [D]: NEW_AMOUNTS }, migration: {} });
  });

  test("V23 one that is deleted while the half comes back holds nothing in the end", async () => {
    await split();
    let times = 0;
    const { services, move } = setUp({ stored: () => ({ deleted: times++ }) });
    await revertToSource(services, move, CONTEXT);
    expect(await both()).toEqual({ instance: {}, migration: {} });
  });

  test("resurrect-deleted-allocations: upstream does not look again, and it holds the source's half", async () => {
    await split();
    let times = 0;
    const quirks = ["resurrect-deleted-allocations"];
    const { services, move } = setUp({ quirks, stored: () => ({ deleted: times++ }) });
    await revertToSource(services, move, CONTEXT);
    expect(await both()).toEqual({ instance: { [S]: OLD_AMOUNTS }, migration: {} });
  });

  const CONFLICT_FAULT = { on: "POST /allocations", does: CONSUMER_CONFLICT } as const;

  test("the move back is refused as the instance was just deleted: the migration's half goes", async () => {
    await split();
    hosts.bench.inject(CONFLICT_FAULT);
    let times = 0;
    const { services, move } = setUp({ stored: () => ({ deleted: times++ }) });
    await revertToSource(services, move, CONTEXT);
    expect((await both()).migration).toEqual({});
  });

  test("the move back is refused as an evacuation gave the half back: that is all there is to do", async () => {
    await split();
    hosts.bench.inject({
      on: "POST /allocations",
      does: async () => void (await hosts.client.moveAllocations(M, I)),
    });
    const { services, move } = setUp();
    await revertToSource(services, move, CONTEXT);
    expect(await both()).toEqual({ instance: { [S]: OLD_AMOUNTS }, migration: {} });
  });

  test("the move back is refused, and the half is still the migration's: that fails, and says who refused", async () => {
    await split();
    hosts.bench.inject({ ...CONFLICT_FAULT, times: 9 });
    const { services, move } = setUp();
    const failure = await revertToSource(services, move, CONTEXT).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "AllocationMoveFailed" });
    expect(String(failure)).toContain("Placement rejected it");
    expect(writes()).toEqual(["POST /allocations 1.28 -> 409"]);
  });

  test("Placement does not respond to the move back: it fails after four attempts, and reports that", async () => {
    await split();
    hosts.bench.inject({ on: "POST /allocations", does: "refuse", times: 99 });
    const { services, move } = setUp();
    const failure = await revertToSource(services, move, CONTEXT).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "AllocationMoveFailed" });
    expect(String(failure)).toContain("Placement cannot be reached");
  });

  test("an error that is no refusal is not taken for one", async () => {
    await split();
    hosts.bench.inject({
      on: "POST /allocations",
      does: () => {
        throw new TypeError("broken");
      },
    });
    const { services, move } = setUp();
    await expect(revertToSource(services, move, CONTEXT)).rejects.toThrow("broken");
  });

  test("9.4 a request whose response was lost is repeated: the delete is found done", async () => {
    await split();
    hosts.bench.inject({ on: "DELETE /allocations", does: "lose" });
    const { services, move } = setUp();
    await finishSource(services, move, CONTEXT);
    expect(await both()).toEqual({ instance: { [D]: NEW_AMOUNTS }, migration: {} });
  });

  test("V30 a delete without a response is tried four times, with the generation that was read", async () => {
    await split();
    const { services, move } = setUp();
    let tries = 0;
    const placement = {
      deleteAllocation: async (_: string, options: unknown) => {
        tries += 1;
        expect(options).toEqual({ requestId: "req-move", force: false });
        return null;
      },
    };
    const deaf = { ...services, placement } as unknown as AgentContext;
    await expect(deleteMigration(deaf, move.migration, CONTEXT)).rejects.toThrow("Placement cannot be reached");
    expect(tries).toBe(4);
  });
});

describe("doubled: the instance holds both halves", () => {
  test.each([
    [
      "lets go of its half when the next move has ended first",
      "devstack3",
      { [S]: OLD_AMOUNTS, [NFS]: NEW_AMOUNTS },
      { [NFS]: NEW_AMOUNTS },
    ],
    ["keeps what is all that the instance holds", "devstack3", { [S]: OLD_AMOUNTS }, { [S]: OLD_AMOUNTS }],
    ["keeps what an instance needs that is here again", "devstack1", { [S]: OLD_AMOUNTS, [NFS]: NEW_AMOUNTS }, null],
  ] as const)("6.0 a source that is late %s", async (_, host, before, after) => {
    await hold(I, before);
    const { services, move } = setUp({ stored: () => ({ host, node: host }) });
    await finishSource(services, move, CONTEXT);
    expect((await both()).instance).toEqual(after ?? before);
  });

  test("6.0 confirmed: the source's tree of it goes", async () => {
    await doubled();
    const { services, move } = setUp();
    await finishSource(services, move, CONTEXT);
    expect(await hosts.held(I)).toEqual({ [D]: NEW_AMOUNTS });
  });

  test("6.0 reverted: the destination's tree of it goes", async () => {
    await doubled();
    const { services, move } = setUp();
    await revertToSource(services, move, CONTEXT);
    expect(ids()).toEqual(new Set(["req-move"]));
    expect(await hosts.held(I)).toEqual({ [S]: OLD_AMOUNTS });
  });

  test("a destination that has not claimed yet is known by its host: its node is where the instance holds something", async () => {
    await doubled();
    const { services, move } = setUp({ migration: { destNode: null } });
    await revertToSource(services, move, CONTEXT);
    expect(await hosts.held(I)).toEqual({ [S]: OLD_AMOUNTS });
  });

  test.each<[string, Partial<Migration>]>([
    ["no destination host is known", { destCompute: null, destNode: null }],
    ["the destination's node is gone", { destNode: "gone" }],
    ["the source's node is gone", { sourceNode: "gone" }],
    ["the instance holds nothing on any node of the destination", { destCompute: "devstack3", destNode: null }],
  ])("nothing is taken when %s", async (_, migration) => {
    await doubled();
    const { services, move } = setUp({ migration });
    await finishSource(services, move, CONTEXT);
    await revertToSource(services, move, CONTEXT);
    expect(writes().filter((request) => request.startsWith("PUT "))).toEqual([]);
  });

  test.each([
    ["source", S],
    ["destination", D],
  ])("one half alone, the %s's, is never taken", async (_, root) => {
    await hold(I, { [root]: OLD_AMOUNTS });
    const { services, move } = setUp();
    await finishSource(services, move, CONTEXT);
    await revertToSource(services, move, CONTEXT);
    expect(await hosts.held(I)).toEqual({ [root]: OLD_AMOUNTS });
  });

  test.each<[string, Partial<Migration>, boolean]>([
    ["goes there", { id: 8, status: "migrating", destCompute: "devstack2" }, true],
    ["went there", { id: 8, status: "done", destCompute: "devstack2" }, true],
    ["may go there", { id: 8, status: "accepted", destCompute: null }, true],
    ["goes elsewhere", { id: 8, status: "migrating", destCompute: "devstack3" }, false],
    ["ended without a destination", { id: 8, status: "completed", destCompute: null }, false],
    ["failed", { id: 8, status: "failed", destCompute: "devstack2" }, false],
    ["ended in error", { id: 8, status: "error", destCompute: "devstack2" }, false],
    ["was cancelled", { id: 8, status: "cancelled", destCompute: "devstack2" }, false],
    ["went there before this move", { id: 6, status: "done", destCompute: "devstack2" }, false],
    ["is another instance's", { id: 8, status: "migrating", destCompute: "devstack2", instanceUuid: M }, false],
  ])("the destination's half stays when a migration %s: %o", async (_, other, stays) => {
    await doubled();
    const { services, move } = setUp({ others: [other] });
    await revertToSource(services, move, CONTEXT);
    expect(Object.keys(await hosts.held(I))).toEqual(stays ? [S, D] : [S]);
  });

  test("the source's half stays when a later migration has the source as its destination", async () => {
    await doubled();
    const { services, move } = setUp({ others: [{ id: 8, status: "migrating", destCompute: "devstack1" }] });
    await finishSource(services, move, CONTEXT);
    expect(Object.keys(await hosts.held(I))).toEqual([S, D]);
  });

  /** The next move, which has no destination yet. */
  const NEXT = { id: 8, status: "accepted", migrationType: "live-migration", destCompute: null } as const;
  const TWICE = { VCPU: 2, MEMORY_MB: 1024, DISK_GB: 2 };
  const ON_ITS_WAY = { instance: { flavor: OLD, oldFlavor: null, newFlavor: null }, others: [NEXT] };

  test.each<[string, Held, object, Held]>([
    ["that has claimed nothing there takes it", { [S]: OLD_AMOUNTS, [D]: OLD_AMOUNTS }, {}, { [D]: OLD_AMOUNTS }],
    [
      "that has claimed there takes it out of the sum",
      { [S]: TWICE, [D]: OLD_AMOUNTS },
      {},
      { [S]: OLD_AMOUNTS, [D]: OLD_AMOUNTS },
    ],
    [
      "leaves it where an earlier run may have taken it: it may be the next claim",
      { [S]: OLD_AMOUNTS, [D]: OLD_AMOUNTS },
      { repeated: true },
      { [S]: OLD_AMOUNTS, [D]: OLD_AMOUNTS },
    ],
  ])("the source's half, with a next move that may go back there: one %s", async (_, held, options, after) => {
    await hold(I, held);
    const { services, move } = setUp(ON_ITS_WAY);
    await finishSource(services, move, { ...CONTEXT, ...options });
    expect(await hosts.held(I)).toEqual(after);
  });

  test("whose write was not answered leaves it, too: the next claim may have come since", async () => {
    await hold(I, { [S]: OLD_AMOUNTS, [D]: OLD_AMOUNTS });
    const { services, move } = setUp(ON_ITS_WAY);
    hosts.bench.inject({ on: "PUT /allocations/", does: "refuse", times: 1 });
    await finishSource(services, move, CONTEXT);
    expect(Object.keys(await hosts.held(I))).toEqual([S, D]);
  });

  test("the source's half stays for an evacuation that has no destination yet: it adds nothing", async () => {
    await hold(I, { [S]: OLD_AMOUNTS, [D]: OLD_AMOUNTS });
    const { services, move } = setUp({ ...ON_ITS_WAY, others: [{ ...NEXT, migrationType: "evacuation" }] });
    await finishSource(services, move, CONTEXT);
    expect(Object.keys(await hosts.held(I))).toEqual([S, D]);
  });

  test("a conflict of the write is tried again; one that Placement refuses fails", async () => {
    await doubled();
    const conflict = { on: "PUT /allocations/", does: CONSUMER_CONFLICT } as const;
    hosts.bench.inject(conflict);
    const { services, move } = setUp();
    await finishSource(services, move, CONTEXT);
    expect(await hosts.held(I)).toEqual({ [D]: NEW_AMOUNTS });
    await doubled();
    hosts.bench.inject({ on: "PUT /allocations/", does: { status: 500, body: "" }, times: 99 });
    await expect(finishSource(services, move, CONTEXT)).rejects.toThrow(
      "Placement rejected the removal of the source allocations",
    );
  });

  test("V30 a write without a response is tried four times", async () => {
    await doubled();
    const { services, move } = setUp();
    hosts.bench.inject({ on: "PUT /allocations/", does: "refuse", times: 3 });
    await finishSource(services, move, CONTEXT);
    expect(await hosts.held(I)).toEqual({ [D]: NEW_AMOUNTS });
    await doubled();
    hosts.bench.inject({ on: "PUT /allocations/", does: "refuse", times: 4 });
    await expect(finishSource(services, move, CONTEXT)).rejects.toThrow();
    expect(await hosts.held(I)).toEqual({ [S]: OLD_AMOUNTS, [D]: NEW_AMOUNTS });
  });

  test("an error that is no lost answer is not tried again", async () => {
    await doubled();
    const { services, move } = setUp();
    hosts.bench.inject({
      on: "PUT /allocations/",
      does: () => {
        throw createAllocationError("AllocationUpdateFailed", I, "broken");
      },
    });
    await expect(finishSource(services, move, CONTEXT)).rejects.toThrow("broken");
  });
});

describe("what the instance holds here", () => {
  const node = aComputeNode({ uuid: S, hypervisorHostname: "devstack1" });

  test("the part on the tree of the node, with the devices below it", async () => {
    const tree = await hosts.client.getProviderTreeAndEnsureRoot(S, "devstack1");
    tree.newChild("gpu", S, CHILD);
    tree.updateInventory(CHILD, { VGPU: inventoryOf(1) });
    await hosts.client.updateFromProviderTree(tree);
    await hold(I, { [S]: OLD_AMOUNTS, [CHILD]: { VGPU: 1 }, [D]: NEW_AMOUNTS });
    const { services, move } = setUp();
    const here = await heldHere(services, move.instance, node, CONTEXT);
    expect(Object.keys(here).sort()).toEqual([S, CHILD].sort());
    expect(ids()).toEqual(new Set(["req-move"]));
  });

  test("two providers are enough to tell them apart; one is not asked about, nor is anything without a node", async () => {
    await doubled();
    const { services, move } = setUp();
    const held = await heldHere(services, move.instance, undefined, CONTEXT);
    expect(Object.keys(held)).toEqual([S, D]);
    expect(Object.keys(await onTree(services, held, node, CONTEXT))).toEqual([S]);
    const single = { [D]: { resources: NEW_AMOUNTS } };
    expect(await onTree(services, single, node, CONTEXT)).toEqual(single);
  });
});

test("only a resize has two flavors; what is not noted yet is the instance's own", () => {
  const instance = anInstance({ flavor: OLD, oldFlavor: NEW, newFlavor: NEW });
  expect(flavorsOf(instance, aMigration({ migrationType: "migration" }))).toEqual({ oldFlavor: OLD, newFlavor: OLD });
  expect(flavorsOf(instance, aMigration({ migrationType: "resize" }))).toEqual({ oldFlavor: NEW, newFlavor: NEW });
  const early = anInstance({ flavor: OLD, oldFlavor: null, newFlavor: null });
  expect(flavorsOf(early, aMigration({ migrationType: "resize" }))).toEqual({ oldFlavor: OLD, newFlavor: OLD });
});
