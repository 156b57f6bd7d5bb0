import { describe, expect, it } from "vitest";
import { NO_METRICS } from "../../../../src/agent/metrics/metrics.js";
import { checkLeak, type LeakInputs } from "../../../../src/agent/periodic/evaluate-leak.js";
import type {
  ComputeNode,
  Instance,
  Migration,
  MigrationStatus,
  MigrationType,
} from "../../../../src/records/index.js";
import { FINAL_MIGRATION_STATUSES, MIGRATION_STATUSES } from "../../../../src/records/index.js";
import type { Harness, HostOptions } from "../../../unit/agent/support/harness.js";
import { AMOUNTS, addInstance, addMigration, placed, uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const VM = uuidOf(1);
const HOUR = 3_600_000;

function instance(values: Partial<Instance> = {}) {
  return { uuid: VM, host: "devstack2", taskState: null, deleted: 0, ...values } as Instance;
}
function move(status: MigrationStatus, values: Partial<Migration> = {}) {
  return { id: 4, status, migrationType: "migration", sourceCompute: "devstack1", ...values } as Migration;
}
function evaluate(inputs: Partial<LeakInputs>) {
  return checkLeak({
    host: "devstack1",
    node: "devstack1",
    migration: null,
    instance: instance(),
    moves: [],
    instanceHoldsTree: false,
    holders: new Set(),
    instanceHoldsElsewhere: false,
    instanceHoldsMore: false,
    abandoned: false,
    guestIsHere: false,
    ...inputs,
  }).action;
}

const BETWEEN_OTHERS = { sourceCompute: "devstack2", destCompute: "devstack3" };
const NOWHERE = { sourceCompute: "devstack2", destCompute: null };

/** The move of a deleted instance. */
const LEFT = { migration: move("post-migrating"), instance: instance({ deleted: 7 }) };

describe("9.3 a migration's allocations", () => {
  it.each(MIGRATION_STATUSES)("%s", (status) => {
    const migration = move(status);
    const ended = FINAL_MIGRATION_STATUSES.includes(status);
    expect(evaluate({ migration, moves: [migration] })).toBe(ended ? "free" : "keep");
  });

  it.each<[string, Partial<LeakInputs>, string]>([
    ["the instance is gone", { instance: null }, "free"],
    ["the instance is deleted, and nobody works on its move", { ...LEFT, abandoned: true }, "end"],
    ["the instance is deleted, and somebody may work on its move", LEFT, "keep"],
    ["nobody works on the move of a live instance", { migration: move("post-migrating"), abandoned: true }, "keep"],
    ["the instance is deleted", { instance: instance({ deleted: 7, taskState: "deleting" }) }, "free"],
    ["the instance is busy", { instance: instance({ taskState: "resize_reverting" }) }, "keep"],
    ["another move is under way", { moves: [move("confirmed"), move("migrating")] }, "keep"],
    ["one to a host that is not known yet", { moves: [move("pre-migrating", NOWHERE)] }, "keep"],
    ["one between other hosts waits for its confirmation", { moves: [move("finished", BETWEEN_OTHERS)] }, "free"],
    ["it is all that the guest here has", { instance: instance({ host: "devstack1" }) }, "give-back"],
    ["the guest here has its own", { instance: instance({ host: "devstack1" }), instanceHoldsTree: true }, "free"],
  ])("%s", (_name, inputs, action) => {
    expect(evaluate({ migration: move("confirmed"), ...inputs })).toBe(action);
  });

  const onto = move("finished", { uuid: "later", sourceCompute: "devstack2", destCompute: "devstack1" });
  const off = move("finished", { uuid: "later", destCompute: "devstack2" });
  const onOne = move("finished", { uuid: "later", destCompute: "devstack1" });
  const resized = instance({ host: "devstack1", vmState: "resized" });
  const held = { instance: resized, instanceHoldsTree: true };
  const holders = new Set(["later"]);
  it.each<[string, Partial<LeakInputs>, string]>([
    ["here, with what its instance holds", { ...held, moves: [onto] }, "free"],
    ["here, and the instance holds nothing", { instance: resized, moves: [onto] }, "keep"],
    ["there, with a half of its own", { moves: [off], holders }, "free"],
    ["there, and its half is the ended one's", { moves: [off] }, "keep"],
    ["on this host, with both halves", { ...held, moves: [onOne], holders }, "free"],
    ["on this host, and one half is the ended one's", { ...held, moves: [onOne] }, "keep"],
    ["and is confirmed", { ...held, moves: [{ ...onto, status: "confirming" }] }, "keep"],
    ["and is reverted", { ...held, instance: { ...resized, taskState: "resize_reverting" }, moves: [onto] }, "keep"],
  ])("a later move waits for its confirmation %s", (_name, inputs, action) => {
    expect(evaluate({ migration: move("error"), ...inputs })).toBe(action);
  });

  const here = { instance: instance({ host: "devstack1" }) };
  it.each<[string, Partial<LeakInputs>, string]>([
    ["recorded here, and the guest is here", { ...here, guestIsHere: true }, "give-back"],
    ["recorded here, and the guest is not", { ...here, guestIsHere: false }, "keep"],
    ["recorded here, and the driver cannot tell", { ...here, guestIsHere: null }, "keep"],
    ["recorded there, and no guest is left here", { guestIsHere: false }, "free"],
    ["recorded there, and the guest is here", { guestIsHere: true }, "keep"],
    ["recorded there, and the driver cannot tell", { guestIsHere: null }, "keep"],
  ])("a live migration in error: %s", (_name, inputs, action) => {
    const migration = move("error", { migrationType: "live-migration", destCompute: "devstack2" });
    expect(evaluate({ migration, moves: [migration], ...inputs })).toBe(action);
    expect(evaluate({ migration: move("confirmed"), moves: [move("confirmed"), migration], ...inputs })).toBe(action);
  });

  it("a failed move frees its source, whose guest is what it has set aside, whatever live migrations failed later", () => {
    const migration = move("error");
    const live = move("error", { migrationType: "live-migration", destCompute: "devstack1" });
    expect(evaluate({ migration, moves: [migration, live], guestIsHere: true })).toBe("free");
  });

  it("a live migration that found no destination has torn nothing", () => {
    const live = move("error", { migrationType: "live-migration", destCompute: null });
    expect(evaluate({ migration: move("confirmed"), moves: [live], guestIsHere: true })).toBe("free");
  });

  it.each(MIGRATION_STATUSES.filter((status) => !FINAL_MIGRATION_STATUSES.includes(status)))(
    "a live migration under way (%s) keeps both halves",
    (status) => {
      const migration = move(status, { migrationType: "live-migration" });
      for (const guestIsHere of [true, false, null]) {
        expect(evaluate({ migration, moves: [migration], guestIsHere })).toBe("keep");
        expect(evaluate({ moves: [migration], instanceHoldsElsewhere: true, guestIsHere })).toBe("keep");
      }
    },
  );
});

describe("9.3, 4.6 row 7: an instance's allocations", () => {
  it.each<[string, Partial<LeakInputs>, string]>([
    ["at rest elsewhere", {}, "free"],
    ["at rest elsewhere, on this node, which has gone there", { instance: instance({ node: "devstack1" }) }, "keep"],
    ["here", { instance: instance({ host: "devstack1" }) }, "keep"],
    ["nowhere yet", { instance: instance({ host: null }) }, "keep"],
    ["unknown", { instance: null }, "keep"],
    ["deleted: row 4 of the tracker", { instance: instance({ deleted: 7 }) }, "keep"],
    ["busy", { instance: instance({ taskState: "migrating" }) }, "keep"],
    ["after an evacuation that is cleaned up", { moves: [move("completed", { migrationType: "evacuation" })] }, "free"],
    [
      "evacuation done, and the guest is still here",
      { moves: [move("done", { migrationType: "evacuation" })], guestIsHere: true },
      "keep",
    ],
    [
      "evacuation done, and the driver cannot tell",
      { moves: [move("done", { migrationType: "evacuation" })], guestIsHere: null },
      "keep",
    ],
    [
      "evacuation done, the guest gone, and its clean-up failed (GAP-a)",
      { moves: [move("done", { migrationType: "evacuation" })] },
      "free",
    ],
    [
      "evacuation done from another host",
      { moves: [move("done", { migrationType: "evacuation", sourceCompute: "devstack3" })] },
      "free",
    ],
    ["evacuation accepted", { moves: [move("accepted", { migrationType: "evacuation" })] }, "keep"],
    ["evacuation pre-migrating", { moves: [move("pre-migrating", { migrationType: "evacuation" })] }, "keep"],
    ["move in error", { moves: [move("error")] }, "keep"],
    [
      "move in error, and it holds the other half too",
      { moves: [move("error")], instanceHoldsElsewhere: true },
      "free",
    ],
    ["waits for its confirmation", { moves: [move("finished")] }, "keep"],
    [
      "live migration in error, and the guest is still here",
      { moves: [move("error", { migrationType: "live-migration" })], instanceHoldsElsewhere: true, guestIsHere: true },
      "keep",
    ],
    [
      "live migration in error, and no guest is left here",
      { moves: [move("error", { migrationType: "live-migration" })], instanceHoldsElsewhere: true },
      "free",
    ],
  ])("%s", (_name, inputs, action) => {
    expect(evaluate(inputs)).toBe(action);
  });

  const torn = move("error", { migrationType: "live-migration", destCompute: "devstack2" });
  const back = { id: 5, sourceCompute: "devstack2", destCompute: "devstack1" };
  it.each<[string, Migration, string]>([
    ["has brought it here", move("completed", { ...back, migrationType: "live-migration" }), "free"],
    ["has taken it from here", move("finished", { id: 5, destCompute: "devstack2" }), "keep"],
    ["took it from here and is confirmed", move("confirmed", { id: 5, destCompute: "devstack2" }), "free"],
    ["has come to nothing", move("error", { ...back, migrationType: "live-migration" }), "keep"],
    ["was between others", move("completed", { id: 5, ...BETWEEN_OTHERS }), "keep"],
    ["was an evacuation from here", move("completed", { id: 5, migrationType: "evacuation" }), "keep"],
    ["was an earlier one", move("completed", { ...back, id: 3 }), "keep"],
  ])("live migration in error, and something like a guest is here; a later move %s", (_name, later, action) => {
    const moves = [torn, later].sort((one, other) => one.id - other.id);
    expect(evaluate({ moves, instanceHoldsElsewhere: true, guestIsHere: true })).toBe(action);
  });
});

describe("6.0, 6.4: what a doubled move on one host has left", () => {
  const own = { instance: instance({ host: "devstack1" }), instanceHoldsTree: true, instanceHoldsMore: true };
  const onOne = (status: MigrationStatus, values: Partial<Migration> = {}) =>
    move(status, { migrationType: "resize", destCompute: "devstack1", ...values });
  const onAnother = onOne("error", { sourceCompute: "devstack2", destCompute: "devstack2" });
  const arrived = (migrationType: MigrationType, id = 5) =>
    move("completed", { id, migrationType, sourceCompute: "devstack2", destCompute: "devstack1" });
  const left = (status: MigrationStatus) => onOne(status, { destCompute: "devstack2" });
  const back = (status: MigrationStatus) => onOne(status, { id: 5, sourceCompute: "devstack2" });
  const evacuated = move("completed", { migrationType: "evacuation", destCompute: "devstack2" });
  it.each<[string, Partial<LeakInputs>, string]>([
    ["confirmed", { moves: [onOne("confirmed")] }, "trim"],
    ["in error", { moves: [onOne("error")] }, "trim"],
    ["ended before its claim", { moves: [onOne("error", { destCompute: null })] }, "trim"],
    ["on the host from which a live migration came", { moves: [onAnother, arrived("live-migration")] }, "trim"],
    ["on the host from which it was evacuated", { moves: [onAnother, arrived("evacuation")] }, "trim"],
    ["on another host, and came by a claim of its own", { moves: [onAnother, arrived("migration")] }, "keep"],
    ["on another host, since it has left this one", { moves: [arrived("evacuation", 3), onAnother] }, "keep"],
    ["no more than the need", { moves: [onOne("confirmed")], instanceHoldsMore: false }, "keep"],
    ["waits for its confirmation", { moves: [onOne("finished")] }, "keep"],
    ["another move is under way", { moves: [onOne("error"), onOne("pre-migrating")] }, "keep"],
    ["busy", { moves: [onOne("error")], instance: instance({ host: "devstack1", taskState: "resize_prep" }) }, "keep"],
    ["never moved on this host", { moves: [move("reverted", { destCompute: "devstack2" })] }, "keep"],
    ["came from another host", { moves: [onOne("confirmed", { sourceCompute: "devstack2" })] }, "keep"],
    ["has come back from where a move took it", { moves: [left("error"), arrived("migration")] }, "trim"],
    ["has come back, and waits for its confirmation", { moves: [left("error"), back("finished")] }, "keep"],
    ["was evacuated from here, and has come back", { moves: [evacuated, arrived("migration")] }, "keep"],
    ["came here, and then a move from here failed", { moves: [arrived("migration", 3), left("error")] }, "keep"],
  ])("%s", (_name, inputs, action) => {
    expect(evaluate({ ...own, ...inputs })).toBe(action);
  });
});

function host(mode: "off" | "report" | "repair", more: HostOptions = {}): HostOptions {
  return {
    ...more,
    config: {
      // Disables or delays the other tasks of the hour.
      defaults: {
        periodic_enable: true,
        periodic_fuzzy_delay: 0,
        report_interval: 600,
        update_resources_interval: 1800,
        instance_delete_interval: -1,
        scheduler_instance_sync_interval: -1,
      },
      sections: { compute: { reconcile_allocations: mode } },
    },
  };
}

/** Puts vm1 on devstack2 after a move that left allocations of the migration and of vm1 on devstack1. */
async function leaked(harness: Harness) {
  const { node: s } = await harness.seed("devstack1");
  const { node: d } = await harness.seed("devstack2");
  addInstance(harness.store, VM, placed(d));
  harness.hypervisor("devstack2").addGuest(VM);
  const migration = addMigration(harness.store, VM, "migration", "confirmed", {
    sourceCompute: "devstack1",
    sourceNode: "devstack1",
  });
  await harness.allocate(VM, s, d);
  await harness.allocate(migration.uuid, s);
  return { s, d, migration };
}

scenario("9.3 repair: both leaks go after an hour, and only this host's part of them", async (harness) => {
  const counted: string[] = [];
  const { d, migration } = await leaked(harness);
  const metrics = {
    ...NO_METRICS,
    leakedAllocations: (kind: string, count: number) => counted.push(`${kind} ${count}`),
  };
  await harness.start("devstack1", host("repair", { metrics }));
  await harness.world.advance(HOUR - 60_000);
  expect(Object.keys(await harness.held(VM))).toHaveLength(2);
  await harness.world.advance(120_000);
  expect(await harness.held(VM)).toEqual({ [d.uuid]: AMOUNTS });
  expect(await harness.held(migration.uuid)).toEqual({});
  expect(counted).toEqual(["migration 0", "instance 0"]);
});

scenario("9.3 repair: what a failed move holds goes while the next one waits for its confirmation", async (harness) => {
  const { node: s } = await harness.seed("devstack1");
  const { node: d } = await harness.seed("devstack2");
  addInstance(harness.store, VM, { ...placed(d), vmState: "resized" });
  harness.hypervisor("devstack2").addGuest(VM);
  const from = (source: ComputeNode, { host: destCompute, hypervisorHostname: destNode, id }: ComputeNode) => ({
    ...{ sourceCompute: source.host, sourceNode: source.hypervisorHostname },
    ...{ destCompute, destNode, destComputeId: id },
  });
  const [ends, back] = [from(s, d), from(d, s)];
  const failed = [ends, back].map((changes) => addMigration(harness.store, VM, "migration", "error", changes));
  const waits = addMigration(harness.store, VM, "migration", "finished", ends);
  await harness.allocate(VM, d);
  await harness.allocate(waits.uuid, s);
  await harness.allocate(failed[0]?.uuid ?? "", s);
  await harness.allocate(failed[1]?.uuid ?? "", d);
  await harness.start("devstack1", host("repair"));
  await harness.start("devstack2", host("repair"));
  await harness.world.advance(HOUR + 60_000);
  expect(await Promise.all(failed.map(({ uuid }) => harness.held(uuid)))).toEqual([{}, {}]);
  expect(await harness.held(VM)).toEqual({ [d.uuid]: AMOUNTS });
  expect(await harness.held(waits.uuid)).toEqual({ [s.uuid]: AMOUNTS });
});

for (const mode of ["report", "off"] as const) {
  scenario(`9.3 ${mode}: nothing is changed`, async (harness) => {
    const counted: string[] = [];
    const { s, d, migration } = await leaked(harness);
    const metrics = {
      ...NO_METRICS,
      leakedAllocations: (kind: string, count: number) => counted.push(`${kind} ${count}`),
    };
    const run = await harness.start("devstack1", host(mode, { metrics }));
    await harness.world.advance(HOUR + 60_000);
    expect(await harness.held(VM)).toEqual({ [s.uuid]: AMOUNTS, [d.uuid]: AMOUNTS });
    expect(await harness.held(migration.uuid)).toEqual({ [s.uuid]: AMOUNTS });
    expect(counted).toEqual(mode === "off" ? [] : ["migration 1", "instance 1"]);
    const reports = run.runtime.logs.filter(({ message }) => message.startsWith("leaked allocations on this host"));
    expect(reports.map(({ fields }) => fields.kind).sort()).toEqual(mode === "off" ? [] : ["instance", "migration"]);
  });
}

scenario("9.3 repair: a write in between wins; the next look mends it", async (harness) => {
  const { s, d } = await leaked(harness);
  let meddle = true;
  harness.beforePlacement = async (who, request) => {
    if (meddle && who === "devstack1" && request === `PUT /allocations/${VM}`) {
      meddle = false;
      await harness.allocate(VM, s, d);
    }
  };
  const run = await harness.start("devstack1", host("repair"));
  await harness.world.advance(HOUR + 60_000);
  const left = () =>
    run.runtime.logs.filter(({ message }) => message.includes("checking again in the next run")).length;
  if (meddle) {
    throw new Error("the second writer never came");
  }
  expect(left()).toBe(1);
  await harness.world.advance(HOUR);
  expect(await harness.held(VM)).toEqual({ [d.uuid]: AMOUNTS });
  expect(left()).toBe(1);
});

scenario(
  "9.3 repair: a consumer that went and came again in between, with the same generation, is left",
  async (harness) => {
    const { node: s } = await harness.seed("devstack1");
    const { node: d } = await harness.seed("devstack2");
    addInstance(harness.store, VM, placed(d));
    harness.hypervisor("devstack2").addGuest(VM);
    // The claim of a live migration to devstack1 that then fails and restores the server's allocations.
    await harness.allocate(VM, s);
    let reads = 0;
    harness.beforePlacement = async (who, request) => {
      if (who === "devstack1" && request === `GET /allocations/${VM}`) {
        reads += 1;
        if (reads === 2) {
          await harness.allocate(VM);
          await harness.allocate(VM, d);
        }
      }
    };
    await harness.start("devstack1", host("repair"));
    await harness.world.advance(HOUR + 60_000);
    expect(reads).toBe(2);
    expect(await harness.held(VM)).toEqual({ [d.uuid]: AMOUNTS });
  },
);

scenario("9.3 repair: while the conductor is unreachable, nothing is written", async (harness) => {
  const { s, d } = await leaked(harness);
  const run = await harness.start("devstack1", host("repair"));
  harness.beforeCall = (who) => {
    if (who === "devstack1") {
      throw new Error("the conductor cannot be reached");
    }
  };
  await harness.world.advance(HOUR + 60_000);
  expect(await harness.held(VM)).toEqual({ [s.uuid]: AMOUNTS, [d.uuid]: AMOUNTS });
  harness.kill(run);
});

describe("9.3 repair: a move of a deleted server that no agent works on", () => {
  for (const status of ["pre-migrating", "migrating", "post-migrating", "reverting", "accepted"] as const) {
    scenario(`${status}: the migration is ended, then what it holds goes`, async (harness) => {
      const { node: s } = await harness.seed("devstack1");
      addInstance(harness.store, VM, placed(s));
      const migration = addMigration(
        harness.store,
        VM,
        status === "accepted" ? "live-migration" : "migration",
        status,
        {
          sourceCompute: "devstack1",
          sourceNode: "devstack1",
          destCompute: "devstack9",
        },
      );
      await harness.allocate(migration.uuid, s);
      harness.store.instances.destroy(VM);
      await harness.start("devstack1", host("repair"));
      await harness.world.advance(HOUR + 60_000);
      expect(harness.store.migrations.get(migration.id)?.status).toBe("error");
      expect(await harness.held(migration.uuid)).toEqual({});
    });
  }
});
