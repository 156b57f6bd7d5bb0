import { describe, expect, test } from "vitest";
import { TrustedMessages } from "../../../src/nova-rpc/compute-server/compute-server.js";
import { MessageRows } from "../../../src/nova-rpc/messages/message-scope.js";
import { novaObject } from "../../../src/nova-rpc/objects/primitive.js";

const instance = (data: object, version = "2.7") => novaObject("Instance", version, { uuid: "vm", ...data }, []);
const migration = (data: object) => novaObject("Migration", "1.7", { id: 7, ...data }, []);

function inHand(args: Readonly<Record<string, unknown>> = {}) {
  const clock = { now: 100_000 };
  return { clock, rows: new MessageRows(args, () => clock.now) };
}

describe("the rows of a message", () => {
  test("are the received ones with all later updates; absent fields keep their values", () => {
    const { rows } = inHand({ instance: instance({ host: "a", info_cache: "kept" }), migration: migration({}) });
    rows.note(instance({ host: "b" }));
    expect(rows.latest("Instance", "vm")?.["nova_object.data"]).toEqual({ uuid: "vm", host: "b", info_cache: "kept" });
    expect(rows.latest("Migration", 7)).toEqual(migration({}));
    expect(rows.latest("Instance", "other")).toBeUndefined();
  });

  test("are fresh for a second after an update from the conductor, and not on receipt", () => {
    const { rows, clock } = inHand({ instance: instance({}) });
    expect(rows.fresh("Instance", "vm")).toBeUndefined();
    rows.note(instance({ host: "b" }));
    clock.now += 1_000;
    expect(rows.fresh("Instance", "vm")?.["nova_object.data"].host).toBe("b");
    clock.now += 1;
    expect(rows.fresh("Instance", "vm")).toBeUndefined();
    expect(rows.latest("Instance", "vm")).toBeDefined();
  });

  test("are used once by the next reader, if they were offered within a second", () => {
    const { rows, clock } = inHand({ instance: instance({}) });
    expect(rows.accept("Instance", "vm")).toBeUndefined();
    rows.offer("Instance", "vm");
    expect(rows.accept("Instance", "vm")).toEqual(instance({}));
    expect(rows.accept("Instance", "vm")).toBeUndefined();
    rows.offer("Instance", "vm");
    clock.now += 1_001;
    expect(rows.accept("Instance", "vm"), "whoever waited for a lock reads").toBeUndefined();
  });

  test.each([
    ["2.7", "2.8", "2.8"],
    ["2.8", "2.7", "2.8"],
    ["2.9", "2.10", "2.10"],
    ["1.9", "2.7", "2.7"],
  ])(
    "of versions %s and %s have the newer version, which is converted completely when they are sent",
    (came, notedVersion, version) => {
      const { rows } = inHand({ instance: instance({ compute_id: 1 }, came) });
      rows.note(instance({}, notedVersion));
      expect(rows.latest("Instance", "vm")?.["nova_object.version"]).toBe(version);
    },
  );

  test("are empty for malformed arguments", () => {
    expect(inHand({ instance: null, migration: 3 }).rows.latest("Migration", 3)).toBeUndefined();
  });
});

describe("messages whose records are trusted", () => {
  const args = { instance: instance({}), migration: migration({}) };
  const offered = (trusted: TrustedMessages, method: string): readonly boolean[] => {
    const { rows } = inHand(args);
    trusted.offer(method, method === "prep_resize" ? { ...args, node: "host-1" } : args, rows);
    return [rows.accept("Instance", "vm") !== undefined, rows.accept("Migration", 7) !== undefined];
  };

  test.each([
    ["check_can_live_migrate_destination", true],
    ["check_can_live_migrate_source", true],
    ["pre_live_migration", true],
    ["live_migration", false],
    ["post_live_migration_at_destination", false],
    ["resize_instance", false],
    ["terminate_instance", false],
  ])("%s: its instance %s, its migration never", (method, taken) => {
    expect(offered(new TrustedMessages(() => 0), method)).toEqual([taken, false]);
  });

  test("a finish that this process has prepared, only the first time", () => {
    const trusted = new TrustedMessages(() => 0);
    expect(offered(trusted, "finish_resize"), "prepared by an earlier process").toEqual([false, false]);
    expect(offered(trusted, "prep_resize")).toEqual([false, false]);
    expect(offered(trusted, "finish_resize")).toEqual([true, true]);
    expect(offered(trusted, "finish_resize"), "sent again by a recovery").toEqual([false, false]);
  });

  test("the records of a late finish, as at a suspended agent, are read again", () => {
    for (const [late, taken] of [
      [30_000, true],
      [30_001, false],
    ] as const) {
      let now = 0;
      const trusted = new TrustedMessages(() => now);
      offered(trusted, "prep_resize");
      now = late;
      expect(offered(trusted, "finish_resize"), String(late)).toEqual([taken, taken]);
    }
  });

  test("at most a thousand moves are saved", () => {
    const trusted = new TrustedMessages(() => 0);
    const { rows } = inHand();
    for (let id = 7; id <= 1_007; id += 1) {
      trusted.offer("prep_resize", { migration: migration({ id }) }, rows);
    }
    expect(offered(trusted, "finish_resize")).toEqual([false, false]);
  });
});
