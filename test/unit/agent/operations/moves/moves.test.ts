import { describe, expect, test } from "vitest";
import { castSetAsideGoes, mayBeSetAside, setAsideMove } from "../../../../../src/agent/operations/flow/other-moves.js";
import { moveFlow } from "../../../../../src/agent/operations/flow/step-list.js";
import { IncomingMoves } from "../../../../../src/agent/operations/flow/unfinished-work.js";
import { type Instance, type Migration, SET_ASIDE_BY } from "../../../../../src/records/index.js";
import { aMigration, anInstance } from "../../../../fixtures/records.js";
import { FlowStage } from "../../support/flow-stage.js";
import { FROM_HERE, TO_HERE } from "../../support/staged-move.js";

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("2.8 moves that are on their way to this host", () => {
  test("are waited for until the last of them has ended, by everyone, once", async () => {
    const incoming = new IncomingMoves();
    await incoming.idle();
    incoming.begin(7, "vm");
    incoming.begin(8, "other");
    expect(incoming.migrations).toEqual([7, 8]);
    expect(["vm", "other", "third"].map((uuid) => incoming.has(uuid))).toEqual([true, true, false]);
    let idle = 0;
    const waiting = [1, 2].map(() => incoming.idle().then(() => (idle += 1)));
    incoming.end(7);
    await settled();
    expect(idle).toBe(0);
    incoming.end(9);
    await settled();
    expect(idle).toBe(0);
    incoming.end(8);
    await Promise.all(waiting);
    expect([idle, incoming.size]).toEqual([2, 0]);
    incoming.begin(10, "vm");
    incoming.end(10);
    await settled();
    expect(idle).toBe(2);
  });
});

describe("6.7 what an evacuation has set aside", () => {
  const aside = { [SET_ASIDE_BY]: "8" };

  test("is the move that the instance names", async () => {
    const stage = new FlowStage({ others: [{ id: 8 }] });
    expect((await setAsideMove(stage.context, anInstance({ systemMetadata: aside })))?.id).toBe(8);
    expect(stage.argumentsOf("migration_get")).toEqual([[{ id: 8 }]]);
    expect(await setAsideMove(stage.context, anInstance())).toBeNull();
    expect(stage.argumentsOf("migration_get")).toHaveLength(1);
  });

  test.each<[Partial<Instance>, boolean]>([
    [{}, true],
    [{ vmState: "stopped" }, true],
    [{ vmState: "error" }, true],
    [{ vmState: "paused" }, false],
    [{ vmState: "shelved" }, false],
    [{ taskState: "deleting" }, false],
    [{ taskState: "rebuilding" }, true],
    [{ systemMetadata: {} }, false],
  ])("%o: may be so still: %s", (changes, is) => {
    expect(mayBeSetAside(anInstance({ systemMetadata: aside, ...changes }))).toBe(is);
  });

  const message = { instanceUuid: "vm", migrationId: 8, requestId: "req-1" };
  const rolledBack = { ...message, destroyDisks: false, data: { sharedInstanceFiles: true }, guestGoes: true };

  test.each<[string, Partial<Migration>, unknown[]]>([
    ["a cold one's source", TO_HERE, [["cast confirm_resize", "there", message]]],
    ["a cold one's source, this host", FROM_HERE, []],
    ["a cold one without a source", { sourceCompute: null }, []],
    [
      "a live one's destination",
      { ...FROM_HERE, migrationType: "live-migration" },
      [["cast rollback_live_migration_at_destination", "there", rolledBack]],
    ],
    ["a live one's destination, this host", { ...TO_HERE, migrationType: "live-migration" }, []],
    ["a live one without a destination", { destCompute: null, migrationType: "live-migration" }, []],
  ])("%s removes it", async (_, migration, casts) => {
    const stage = new FlowStage();
    await castSetAsideGoes(stage.context, aMigration({ id: 8, instanceUuid: "vm", ...migration }), "req-1");
    expect(stage.lines).toEqual(casts);
  });
});

describe("a step of a migration", () => {
  const [instance, migration] = [anInstance(), aMigration()];

  test.each([
    ["both records", { instance, migration }, 2],
    ["no migration", { instance, migration: null }, 0],
    ["no record at all", null, 0],
  ])("with %s", async (_, found, done) => {
    const did: unknown[] = [];
    const flow = moveFlow<"confirm_resize">({
      steps: [],
      run: async ({ move }) => void did.push(move),
      onRejected: async ({ move }) => void did.push(move),
    });
    if (found) {
      await flow.run({} as never, found);
    }
    await flow.onRejected?.({} as never, { found } as never);
    expect(did).toEqual(Array(done).fill({ instance, migration }));
  });

  test("that gives nothing back when it is refused", async () => {
    const flow = moveFlow<"confirm_resize">({ steps: [], run: async () => {} });
    await expect(flow.onRejected?.({} as never, { found: { instance, migration } } as never)).resolves.toBeUndefined();
  });
});
