import { describe, expect, it, test } from "vitest";
import { checkSnapshot } from "../../../../src/audit/audit.js";
import { findingsOf, migration, NEED, NOW, node, type Parts, server, snapshotOf } from "./a-snapshot.js";

const subject = { kind: "server", uuid: "vm", name: "name-vm" };
const at = (uuid: string) => ({ uuid, name: `node-${uuid}` });

describe("unfinished-migration", () => {
  const moved = (status: string, more: Parts = {}) =>
    findingsOf({
      servers: [server("vm", "two")],
      migrations: [migration("vm", status)],
      held: { vm: { two: NEED }, move: { one: NEED } },
      ...more,
    });

  it("removes the allocations of a migration that has ended", () => {
    expect(moved("confirmed")).toEqual([
      {
        code: "unfinished-migration",
        subject: { kind: "migration", uuid: "move", name: "migration 7" },
        provider: at("one"),
        explanation: "migration 7 of server name-vm has ended (confirmed) and still has allocations on node-one",
        remedies: [{ kind: "clear", consumer: "move" }],
        left: null,
      },
    ]);
  });

  it("returns to the server the resources that it lacks on its host", () => {
    const servers = [server("vm", "one")];
    const held = { move: { one: NEED } };
    expect(moved("error", { servers, held })).toMatchObject([
      {
        code: "unfinished-migration",
        explanation:
          "migration 7 of server name-vm has ended (error) and still has the allocations that the server needs on node-one",
        remedies: [{ kind: "take-over", consumer: "vm", from: "move" }],
      },
    ]);
    const both = { vm: { two: NEED }, move: { one: NEED } };
    expect(moved("error", { servers, held: both }).map(({ code }) => code)).toEqual(["unfinished-migration"]);
  });

  test.each<[string, Parts["held"]]>([
    ["not all of it", { move: { one: { VCPU: 1 } } }],
    ["something elsewhere", { move: { one: NEED, two: NEED } }],
  ])("a migration that holds %s owes nothing", (_what, held = {}) => {
    const codes = moved("error", { servers: [server("vm", "one")], held }).map(({ code }) => code);
    expect(codes).toEqual(["missing-allocation", "unfinished-migration"]);
  });

  it("accepts any allocations of a migration that waits for its confirmation", () => {
    const servers = [server("vm", "two", { vmState: "resized" })];
    const migrations = [migration("vm", "finished")];
    const codes = moved("finished", { servers, migrations, held: { move: { two: NEED } } }).map(({ code }) => code);
    expect(codes).toEqual(["missing-allocation"]);
  });

  it("removes the allocations of a migration whose server is deleted", () => {
    expect(moved("error", { servers: [], held: { move: { one: NEED } } })).toMatchObject([
      {
        explanation:
          "migration 7 of a server that no longer exists has ended (error) and still has allocations on node-one",
      },
    ]);
    expect(moved("migrating", { servers: [], held: { move: { one: NEED } } })).toEqual([]);
  });

  it("reports nothing while the server has a task", () => {
    expect(moved("confirmed", { servers: [server("vm", "two", { taskState: "rebooting" })] })).toEqual([]);
  });

  it("only reports a migration whose agent is down, and names the host to start", () => {
    const migrations = [migration("vm", "migrating", { changedAt: NOW - 300_001 })];
    expect(moved("", { migrations })).toEqual([
      {
        code: "unfinished-migration",
        subject: { kind: "migration", uuid: "move", name: "migration 7" },
        provider: null,
        explanation: "migration 7 of server name-vm is migrating, and has made no progress for minutes",
        remedies: [],
        left: "restart nova-compute on host-one and host-two, and run the audit again",
      },
    ]);
    const early = [migration("vm", "accepted", { type: "evacuation", changedAt: 0, destHost: null, uuid: null })];
    expect(moved("", { migrations: early, held: {} })).toMatchObject([
      { code: "unfinished-evacuation", subject, left: "restart nova-compute on host-one, and run the audit again" },
    ]);
  });

  describe("a migration that waits for its confirmation, while its server was reset", () => {
    const reset = (vmState: string, more: Parts = {}) =>
      moved("finished", { servers: [server("vm", "two", { vmState })], ...more });

    it.each(["active", "error"])("%s: the migration's allocations are removed", (vmState) => {
      expect(reset(vmState)).toEqual([
        {
          code: "unfinished-migration",
          subject: { kind: "migration", uuid: "move", name: "migration 7" },
          provider: at("one"),
          explanation:
            "migration 7 of server name-vm waits for a confirmation (finished), which the server does not accept since it was " +
            `reset to ${vmState}, and still has allocations on node-one`,
          remedies: [{ kind: "clear", consumer: "move" }],
          left: null,
        },
      ]);
    });

    it("reports nothing if the migration has no allocations", () => {
      expect(reset("error", { held: { vm: { two: NEED } } })).toEqual([]);
    });

    it("removes the server's own allocations on the source of a move before Queens", () => {
      expect(reset("active", { held: { vm: { one: NEED, two: NEED } } })).toMatchObject([
        { code: "doubled-allocation", remedies: [{ kind: "drop", consumer: "vm", providers: ["one"] }] },
      ]);
    });

    test.each<[string, Parts]>([
      ["it finished minutes ago", { migrations: [migration("vm", "finished", { changedAt: NOW - 300_000 })] }],
      ["its server does something", { servers: [server("vm", "two", { taskState: "resize_finish" })] }],
      ["its server builds", { servers: [server("vm", "two", { vmState: "building" })] }],
    ])("reports nothing while %s", (_what, more) => {
      expect(reset("active", more)).toEqual([]);
    });
  });

  it("reports it earlier if the operator says that no move is running", () => {
    const moveTimeouts = { settles: 0, stuck: 0 };
    const checkMigration = (status: string) =>
      checkSnapshot(
        snapshotOf({
          servers: [server("vm", "two")],
          migrations: [migration("vm", status, { changedAt: NOW - 1 })],
          held: { vm: { two: NEED }, move: { one: NEED } },
        }),
        { maxShare: 1, moveTimeouts },
      ).map(({ code }) => code);
    expect(checkMigration("confirmed")).toEqual(["unfinished-migration"]);
    expect(checkMigration("migrating")).toEqual(["unfinished-migration"]);
  });

  test.each<[string, Parts]>([
    ["it changed minutes ago", { migrations: [migration("vm", "migrating", { changedAt: NOW - 300_000 })] }],
    ["its server is on the move", { servers: [server("vm", "two", { taskState: "migrating" })] }],
    ["its server builds", { servers: [server("vm", "two", { vmState: "building" })] }],
    ["its cell does not answer", { servers: [server("vm", "two", { status: "UNKNOWN" })] }],
    [
      "it waits for its confirmation",
      { servers: [server("vm", "two", { vmState: "resized" })], migrations: [migration("vm", "finished")] },
    ],
  ])("reports nothing when %s", (_what, more) => {
    expect(moved("migrating", more)).toEqual([]);
  });
});

describe("unfinished-evacuation", () => {
  const evacuated = (nodes: Parts["nodes"] = []) =>
    findingsOf({
      nodes,
      servers: [server("vm", "two")],
      migrations: [migration("vm", "done", { type: "evacuation" })],
      held: { vm: { one: NEED, two: NEED } },
    });
  const text =
    "the server was evacuated from host host-one to host-two (evacuation 7, done) and still has allocations on node-one";

  it("removes the allocations on the old host if that is down", () => {
    expect(evacuated([node("one", { serviceUp: false }), node("two")])).toEqual([
      {
        code: "unfinished-evacuation",
        subject,
        provider: at("one"),
        explanation: text,
        remedies: [{ kind: "drop", consumer: "vm", providers: ["one"] }],
        left: null,
      },
    ]);
  });

  it("leaves the clean-up to the old host if that is up", () => {
    expect(evacuated([node("one"), node("two")])).toMatchObject([
      {
        explanation: text,
        remedies: [],
        left: "host host-one is up, and may still have the guest: restart its nova-compute, which cleans up",
      },
    ]);
  });
});
