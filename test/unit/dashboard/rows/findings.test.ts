import { beforeEach, expect, it } from "vitest";
import { Findings } from "../../../../src/dashboard/rows/findings.js";
import type { ConsumerRow } from "../../../../src/dashboard/wire/rows.js";
import type { Instance, Migration } from "../../../../src/records/index.js";
import { aMigration, anInstance } from "../../../fixtures/records.js";

let servers: Instance[];
let moves: Migration[];
let findings: Findings;
beforeEach(() => {
  servers = [];
  moves = [];
  findings = new Findings(
    {
      instances: {
        get: (uuid: string, { readDeleted = false } = {}) =>
          servers.find((server) => server.uuid === uuid && (readDeleted || server.deleted === 0)) ?? null,
        byHost: (host: string) => servers.filter((server) => server.host === host && server.deleted === 0),
      },
      migrations: { byFilters: () => moves },
      computeNodes: { hostOf: (uuid: string) => ({ "rp-one": "one", "rp-two": "two" })[uuid] ?? null },
    } as never,
    () => undefined,
  );
});

function codes(host: string, ...uuids: readonly string[]): readonly string[] {
  findings.checkHost(host, {
    at: 1,
    from: "folder",
    guests: uuids.map((uuid) => ({ uuid, name: uuid, state: "running" })),
  });
  return [...findings.all.values()].map(({ code }) => code);
}

const active = { vmState: "active", taskState: null } as const;

it("a guest is stale unless it is on its server's host", () => {
  servers = [anInstance({ uuid: "a", host: "one", ...active })];
  expect(codes("one", "a")).toEqual([]);
  expect(codes("two", "a")).toEqual(["stale-guest"]);
  servers = [anInstance({ uuid: "a", host: "two", ...active })];
  expect(codes("two", "a")).toEqual([]);
});

it("the agent removes an evacuated guest; a running move explains a guest on both hosts", () => {
  servers = [anInstance({ uuid: "a", host: "one", ...active })];
  moves = [aMigration({ migrationType: "evacuation", status: "done" })];
  expect(codes("two", "a")).toEqual(["stale-guest"]);
  expect([...findings.all.values()][0]?.text).toContain("removes this guest when it starts");
  moves = [aMigration({ migrationType: "live-migration", status: "running" })];
  expect(codes("two", "a")).toEqual([]);
});

it("a guest whose server is deleted or unknown has no server", () => {
  servers = [anInstance({ uuid: "gone", host: "one", deleted: 7, displayName: "old" })];
  expect(codes("one", "gone", "never")).toEqual(["guest-without-server", "guest-without-server"]);
  expect([...findings.all.values()].map(({ text }) => text)).toEqual([
    expect.stringContaining("server old is deleted"),
    expect.stringContaining("no server has its uuid"),
  ]);
});

it("an idle server without a guest is a finding; one that builds, moves or is shelved is none", () => {
  servers = [
    anInstance({ uuid: "a", host: "one", ...active }),
    anInstance({ uuid: "b", host: "one", vmState: "building", taskState: "spawning" }),
    anInstance({ uuid: "c", host: "one", vmState: "active", taskState: "rebuilding" }),
    anInstance({ uuid: "d", host: "one", vmState: "error", taskState: null }),
  ];
  expect(codes("one")).toEqual(["server-without-guest"]);
  moves = [aMigration({ status: "migrating" })];
  expect(codes("one")).toEqual([]);
  moves = [aMigration({ status: "finished" })];
  expect(codes("one")).toEqual(["server-without-guest"]);
  findings.checkHost("one", undefined);
  expect(findings.all.size).toBe(0);
});

it("allocations of unknown consumers are listed with their amounts", () => {
  const row: ConsumerRow = {
    uuid: "c",
    type: "stale",
    server: null,
    placementType: "INSTANCE",
    generation: 1,
    projectId: "p",
    userId: "u",
    held: { rp: { VCPU: 2, MEMORY_MB: 512 } },
  };
  findings.checkConsumer("c", row);
  expect([...findings.all.values()]).toMatchObject([
    { code: "stale-allocation", consumer: "c", provider: "rp", text: expect.stringContaining("2 VCPU, 512 MEMORY_MB") },
  ]);
  findings.checkConsumer("c", { ...row, type: "server" });
  findings.checkConsumer("c", undefined);
  expect(findings.all.size).toBe(0);
});

it("an idle server without allocations is a finding; one with a task or without a host is none", () => {
  const holding = (server: Partial<Instance>, holds = false) => {
    servers = [anInstance({ uuid: "a", host: "one", ...active, ...server })];
    findings.checkServerAllocations("a", holds ? ["rp-one"] : []);
    return [...findings.all.values()].map(({ code, host, server }) => ({ code, host, server }));
  };
  const missing = [{ code: "missing-allocation", host: "one", server: "a" }];
  expect(holding({})).toEqual(missing);
  expect(holding({}, true)).toEqual([]);
  expect(holding({ vmState: "stopped" })).toEqual(missing);
  expect(holding({ taskState: "powering-on" })).toEqual([]);
  expect(holding({ host: null, vmState: "shelved_offloaded" })).toEqual([]);
  expect(holding({ vmState: "soft-delete" })).toEqual([]);
  moves = [aMigration({ migrationType: "migration", status: "migrating" })];
  expect(holding({})).toEqual([]);
  servers = [];
  findings.checkServerAllocations("a", []);
  expect(findings.all.size).toBe(0);
});

it("allocations of an idle server on another host are a finding of that host, unless a move explains them", () => {
  const holding = (...providers: readonly string[]) => {
    servers = [anInstance({ uuid: "a", host: "one", ...active })];
    findings.checkServerAllocations("a", providers);
    return [...findings.all.values()].map(({ code, host, server, provider }) => ({ code, host, server, provider }));
  };
  const doubled = [{ code: "doubled-allocation", host: "two", server: "a", provider: "rp-two" }];
  expect(holding("rp-one", "rp-two")).toEqual(doubled);
  expect(holding("rp-one", "rp-of-shared-disks")).toEqual([]);
  moves = [aMigration({ migrationType: "migration", status: "confirmed" })];
  expect(holding("rp-one", "rp-two")).toEqual(doubled);
  moves = [aMigration({ migrationType: "migration", status: "finished" })];
  expect(holding("rp-one", "rp-two")).toEqual([]);
  moves = [aMigration({ migrationType: "evacuation", status: "done" })];
  expect(holding("rp-one", "rp-two")).toEqual([]);
  moves = [];
  expect(holding("rp-one", "rp-two")).toEqual(doubled);
  expect(holding("rp-one")).toEqual([]);
});
