import { beforeEach, describe, expect, test } from "vitest";
import type { AgentView } from "../../../../src/agent/context.js";
import {
  planFailResize,
  planLiveMigrationRecovery,
  planRevertResize,
  planTakeGuestBack,
  planUndoResizePrep,
} from "../../../../src/agent/startup/plan-move-recovery.js";
import type { QuirkName } from "../../../../src/config/quirks.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import {
  DISK_INFO,
  type Instance,
  MIGRATION_STATUSES,
  type Migration,
  type MigrationStatus,
  type MigrationType,
  SET_ASIDE_BY,
} from "../../../../src/records/index.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";
import { StoreSession } from "../../../fixtures/tracker-session.js";
import { addInstance, addMigration, uuidOf } from "../support/records.js";

const HERE = "devstack1";
const THERE = "devstack2";
const VM = uuidOf(1);

let store: Store;
let vm: Instance;

beforeEach(() => {
  store = emptyStore({ runtime: createVirtualRuntime({ seed: 7 }) });
  vm = addInstance(store, VM);
  addInstance(store, uuidOf(2));
});

function view(options: { readonly quirks?: readonly QuirkName[]; readonly guest?: boolean } = {}): AgentView {
  return {
    host: HERE,
    conductor: new StoreSession(HERE, store, {}),
    config: { workarounds: { upstreamQuirks: new Set(options.quirks) } },
    driver: { instanceExists: async () => options.guest ?? false },
  } as unknown as AgentView;
}

interface Ends {
  readonly from?: string;
  readonly to?: string | null;
  readonly of?: string;
}

function migrated(
  migrationType: MigrationType,
  status: MigrationStatus,
  { from = HERE, to = THERE, of = VM }: Ends = {},
): Migration {
  return addMigration(store, of, migrationType, status, { sourceCompute: from, destCompute: to });
}

function statusesBut(...but: readonly MigrationStatus[]): readonly MigrationStatus[] {
  return MIGRATION_STATUSES.filter((status) => !but.includes(status));
}

describe("2.6 a resize that had not begun, on its source", () => {
  const nothing = {
    migration: null,
    driver: "none",
    powerOn: false,
    allocations: "none",
    changes: { taskState: null },
    failsMigration: false,
  };

  test.each([
    ["resize", "pre-migrating"],
    ["resize", "migrating"],
    ["migration", "pre-migrating"],
  ] as const)("%s, %s: the instance gets its half back, and forgets the move", async (type, status) => {
    migrated(type, "error");
    const migration = migrated(type, status);
    expect(await planUndoResizePrep(view(), vm)).toEqual({
      ...nothing,
      migration,
      allocations: "give-back",
      changes: { taskState: null, migrationContext: null, newFlavor: null },
      failsMigration: true,
    });
    expect(await planUndoResizePrep(view({ quirks: ["leave-resize-prep-allocations"] }), vm)).toEqual({
      ...nothing,
      migration,
    });
  });

  test("of several the last one", async () => {
    migrated("resize", "pre-migrating");
    const last = migrated("resize", "pre-migrating");
    expect((await planUndoResizePrep(view(), vm)).migration).toEqual(last);
  });

  test("others are no such move: another instance's, another source's, another type's, one that is further", async () => {
    migrated("resize", "pre-migrating", { of: uuidOf(2) });
    migrated("resize", "pre-migrating", { from: THERE, to: HERE });
    migrated("live-migration", "pre-migrating");
    migrated("evacuation", "migrating");
    for (const status of statusesBut("pre-migrating", "migrating")) {
      migrated("resize", status);
    }
    expect(await planUndoResizePrep(view(), vm)).toEqual(nothing);
  });
});

describe("2.6 a resize that copied the disks, on its source", () => {
  const context = (migrationId: number): Instance => ({ ...vm, migrationContext: { migrationId } as never });

  test("the guest stays here, and the instance gets its half back", async () => {
    const migration = migrated("resize", "migrating");
    const plan = {
      migration,
      driver: "finish-revert",
      powerOn: true,
      allocations: "give-back",
      changes: { taskState: null, migrationContext: null, newFlavor: null },
      failsMigration: true,
    };
    const instance = context(migration.id);
    expect(await planRevertResize(view(), instance)).toEqual(plan);
    const stopped = { ...instance, systemMetadata: { old_vm_state: "stopped" } };
    expect(await planRevertResize(view(), stopped)).toEqual({ ...plan, powerOn: false });
    const upstream = view({ quirks: ["leave-interrupted-resize-allocations"] });
    const left = { allocations: "none", changes: { taskState: null }, failsMigration: false };
    expect(await planRevertResize(upstream, instance)).toEqual({ ...plan, ...left });
  });

  test.each([
    ["knows no move", () => vm],
    ["has one whose row is gone", () => context(99)],
  ])("an instance that %s is only made usable", async (_, instance) => {
    expect(await planRevertResize(view(), instance())).toEqual({
      migration: null,
      driver: "finish-revert",
      powerOn: true,
      allocations: "none",
      changes: { taskState: null },
      failsMigration: false,
    });
  });
});

describe("2.6 row 15' a guest that an ended move has set aside", () => {
  const metadata = { keep: "this", [DISK_INFO]: "disks" };
  const aside = (migration: Migration, changes: Partial<Instance> = {}): Instance => ({
    ...vm,
    ...changes,
    systemMetadata: {
      ...metadata,
      old_vm_state: "active",
      ...changes.systemMetadata,
      [SET_ASIDE_BY]: `${migration.id}`,
    },
  });
  const changes = { systemMetadata: { keep: "this" } };
  const base = (migration: Migration) => ({ migration, powerOn: true, allocations: "none", failsMigration: false });
  const changesIfFailed = { vmState: "error" };

  test("a resize from here: the source brings it back, running unless it was stopped", async () => {
    const migration = migrated("resize", "error");
    migrated("evacuation", "failed");
    const plan = { ...base(migration), driver: "finish-revert", changes, changesIfFailed };
    expect(await planTakeGuestBack(view(), aside(migration))).toEqual(plan);
    const stopped = aside(migration, { systemMetadata: { old_vm_state: "stopped" } });
    expect(await planTakeGuestBack(view(), stopped)).toEqual({ ...plan, powerOn: false });
  });

  test("a resize to here: the destination makes the guest, and what the source has set aside goes", async () => {
    const migration = migrated("resize", "error", { from: THERE, to: HERE });
    expect(await planTakeGuestBack(view(), aside(migration))).toEqual({
      ...base(migration),
      driver: "finish",
      changes,
      changesIfFailed,
      dropsSetAside: true,
    });
  });

  test("a resize to here that was finished: the guest of the destination stays, and what the source has set aside goes", async () => {
    const migration = migrated("resize", "error", { from: THERE, to: HERE });
    const { [DISK_INFO]: _, ...systemMetadata } = aside(migration).systemMetadata;
    const plan = { ...base(migration), driver: "none", changes, dropsSetAside: true };
    expect(await planTakeGuestBack(view(), { ...aside(migration), systemMetadata })).toEqual(plan);
  });

  test("a resize between others: only the mark goes", async () => {
    const migration = migrated("resize", "error", { from: "devstack3" });
    expect(await planTakeGuestBack(view(), aside(migration))).toEqual({ ...base(migration), driver: "none", changes });
  });

  test("one whose move has no row any more: only the mark goes", async () => {
    const migration = migrated("resize", "error");
    migrated("migration", "done");
    const unknown = aside({ ...migration, id: 99 });
    expect(await planTakeGuestBack(view(), unknown)).toEqual({
      ...base(migration),
      migration: null,
      driver: "none",
      changes,
      dropsSetAside: false,
    });
  });

  test.each(["accepted", "queued", "preparing", "pre-migrating", "running", "migrating"] as const)(
    "while an evacuation is %s nothing is touched",
    async (status) => {
      const migration = migrated("resize", "error");
      migrated("evacuation", status);
      expect(await planTakeGuestBack(view(), aside(migration))).toEqual({
        ...base(migration),
        driver: "none",
        changes: {},
        unclear: "the instance is being evacuated",
      });
    },
  );

  test.each(statusesBut())(
    "a later migration in status %s has it elsewhere, or has taken it nowhere",
    async (status) => {
      const migration = migrated("resize", "error");
      migrated("migration", status);
      const stays = ["accepted", "queued", "preparing", "pre-migrating", "error", "failed", "cancelled"].includes(
        status,
      );
      const plan = await planTakeGuestBack(view(), aside(migration));
      expect(plan).toEqual(
        stays
          ? { ...base(migration), driver: "finish-revert", changes, changesIfFailed }
          : { ...base(migration), driver: "none", changes, dropsSetAside: true },
      );
    },
  );

  test("the move itself, one before it and another instance's have not taken it anywhere", async () => {
    migrated("resize", "done");
    migrated("evacuation", "accepted");
    const migration = migrated("evacuation", "accepted");
    migrated("evacuation", "accepted", { of: uuidOf(2) });
    expect(await planTakeGuestBack(view(), aside(migration))).toMatchObject({ driver: "finish-revert" });
  });

  describe("of a live migration", () => {
    test("with the guest here, the destination's goes", async () => {
      const migration = migrated("live-migration", "error");
      expect(await planTakeGuestBack(view({ guest: true }), aside(migration))).toEqual({
        ...base(migration),
        driver: "none",
        changes,
        destination: THERE,
        guestGoes: true,
      });
    });

    test("with the guest there, it goes on to its end", async () => {
      const migration = migrated("live-migration", "error");
      expect(await planTakeGuestBack(view(), aside(migration))).toEqual({
        ...base(migration),
        driver: "none",
        allocations: "claim-destination",
        changes: { ...changes, taskState: "migrating" },
        revives: true,
      });
    });

    test("with the guest there, and another request that has the instance, nothing is touched", async () => {
      const migration = migrated("live-migration", "error");
      expect(await planTakeGuestBack(view(), aside(migration, { taskState: "powering-off" }))).toEqual({
        ...base(migration),
        driver: "none",
        changes: {},
        unclear: "another request owns the instance",
      });
    });
  });
});

describe("6.3 row 7 a resize that was being finished, on its destination", () => {
  const TO_HERE = { from: THERE, to: HERE };
  const unclear = {
    migration: null,
    driver: "none",
    powerOn: false,
    allocations: "none",
    changes: {},
    failsMigration: false,
    unclear: expect.stringContaining("post-migrating"),
  };

  test.each([
    ["resize", "post-migrating"],
    ["migration", "post-migrating"],
    ["resize", "finished"],
  ] as const)("%s in %s: as if finishing had failed", async (type, status) => {
    migrated(type, "post-migrating", TO_HERE);
    const migration = migrated(type, status, TO_HERE);
    expect(await planFailResize(view(), vm)).toEqual({
      migration,
      driver: "none",
      powerOn: false,
      allocations: "drop-migration",
      changes: { vmState: "error", taskState: null, migrationContext: null },
      failsMigration: true,
    });
    const upstream = view({ quirks: ["leave-interrupted-resizes"] });
    expect(await planFailResize(upstream, vm)).toEqual({ ...unclear, migration });
  });

  test("others are no such move: another instance's, one from here, another type's, one that is elsewhere", async () => {
    migrated("resize", "post-migrating", { ...TO_HERE, of: uuidOf(2) });
    migrated("resize", "post-migrating");
    migrated("evacuation", "post-migrating", TO_HERE);
    migrated("live-migration", "post-migrating", TO_HERE);
    for (const status of statusesBut("post-migrating", "finished")) {
      migrated("resize", status, TO_HERE);
    }
    expect(await planFailResize(view(), vm)).toEqual(unclear);
  });
});

describe("2.6 a live migration, on its source", () => {
  const base = { driver: "none", powerOn: false, changes: { taskState: null } };
  const left = { ...base, allocations: "none", changes: {}, failsMigration: false };

  test.each(["queued", "preparing", "running", "running (post-copy)"] as const)(
    "%s, with the guest here: it failed, and the instance gets its half back",
    async (status) => {
      migrated("live-migration", status);
      const migration = migrated("live-migration", status);
      const driver = status === "running" ? "abort" : "none";
      expect(await planLiveMigrationRecovery(view(), vm, true)).toEqual({
        ...base,
        driver,
        migration,
        allocations: "give-back",
        failsMigration: true,
        destination: THERE,
      });
      const upstream = view({ quirks: ["leave-interrupted-live-migration-allocations"] });
      expect(await planLiveMigrationRecovery(upstream, vm, true)).toEqual({
        ...base,
        driver,
        migration,
        allocations: "none",
        failsMigration: status === "running",
      });
    },
  );

  test("with the guest gone, its destination is asked first", async () => {
    const migration = migrated("live-migration", "running");
    const plan = { ...left, migration };
    expect(await planLiveMigrationRecovery(view(), vm, false)).toEqual({
      ...plan,
      unclear: expect.stringContaining(`${THERE} is checked for it`),
    });
    const nowhere = migrated("live-migration", "running", { to: null });
    expect(await planLiveMigrationRecovery(view(), vm, false)).toEqual({
      ...plan,
      migration: nowhere,
      unclear: expect.stringContaining("the destination is checked for it"),
    });
  });

  test.each([true, false])("one that the conductor still has is left to it (guest here: %s)", async (guestIsHere) => {
    const migration = migrated("live-migration", "accepted");
    expect(await planLiveMigrationRecovery(view(), vm, guestIsHere)).toEqual({
      ...left,
      migration,
      unclear: expect.stringContaining("conductor"),
    });
  });

  test.each([true, false])("without one the instance is made usable (guest here: %s)", async (guestIsHere) => {
    migrated("live-migration", "running", { of: uuidOf(2) });
    migrated("live-migration", "running", { from: THERE, to: HERE });
    migrated("evacuation", "running");
    for (const status of statusesBut("accepted", "queued", "preparing", "running", "running (post-copy)")) {
      migrated("live-migration", status);
    }
    expect(await planLiveMigrationRecovery(view(), vm, guestIsHere)).toEqual({
      ...base,
      migration: null,
      allocations: "none",
      failsMigration: false,
    });
  });
});
