import { expect } from "vitest";
import type { ComputeNode, Instance, Migration, MigrationChanges, TaskState } from "../../../../src/records/index.js";
import { Harness } from "./harness.js";
import { addInstance, addMigration, placed, uuidOf } from "./records.js";
import { countdown, PERIODIC, type Sample } from "./returning-host.js";

/** An instance that was in the middle of an operation when devstack1 starts. */
interface Found {
  readonly values: Partial<Instance>;
  /** The role of devstack1 in the move; the other host is devstack2. */
  readonly move?: readonly [end: "source" | "dest", type: Migration["migrationType"], status: Migration["status"]];
  /** True if the instance's migration context names the move. */
  readonly context?: boolean;
  /** Default: devstack1. */
  readonly on?: "devstack2" | null;
}

/** One for each kind of work that start-up does on an instance (spec 2.6, 2.7, 3.1). */
const FOUND: readonly Found[] = [
  { values: {} },
  { values: { vmState: "building", taskState: "spawning" } },
  { values: { taskState: "rebuild_spawning" } },
  { values: { taskState: "image_uploading" } },
  { values: { taskState: "deleting" } },
  { values: { vmState: "deleted" } },
  { values: { taskState: "reboot_pending" } },
  { values: { taskState: "powering-off" } },
  { values: { vmState: "stopped", taskState: "powering-on", powerState: 4 } },
  { values: { taskState: "pausing" } },
  { values: { vmState: "shelved", taskState: "shelving_offloading", powerState: 4 } },
  { values: { taskState: "resize_prep" }, move: ["source", "migration", "pre-migrating"] },
  { values: { taskState: "resize_migrating" }, move: ["source", "migration", "migrating"], context: true },
  { values: { taskState: "resize_migrated" }, move: ["dest", "migration", "post-migrating"], context: true },
  { values: { taskState: "resize_finish" }, move: ["dest", "migration", "post-migrating"], context: true },
  { values: { taskState: "resize_reverting" }, move: ["dest", "migration", "reverting"], context: true },
  { values: { taskState: "migrating" }, move: ["source", "live-migration", "running"] },
  { values: { taskState: "rebuilding" }, move: ["source", "evacuation", "pre-migrating"] },
  { values: {}, move: ["source", "evacuation", "done"], on: "devstack2" },
  { values: { taskState: "rebuild_spawning" }, move: ["dest", "evacuation", "pre-migrating"], on: "devstack2" },
  { values: { vmState: "building", taskState: "scheduling" }, on: null },
  { values: { vmState: "shelved_offloaded", taskState: "unshelving" }, on: null },
];

/** The allocations of each instance; all of them fit on one host. */
const LITTLE = { MEMORY_MB: 16 };
const UUIDS = FOUND.map((_, index) => uuidOf(index + 1));
const NOWHERE = { host: null, node: null, computeId: null, launchedOn: null };

interface Scene {
  readonly harness: Harness;
  readonly s: ComputeNode;
  readonly d: ComputeNode;
}

async function create(): Promise<Scene> {
  const harness = await Harness.create({ checked: false });
  const { node: s } = await harness.seed("devstack1");
  const { node: d } = await harness.seed("devstack2");
  for (const [index, found] of FOUND.entries()) {
    await add({ harness, s, d }, uuidOf(index + 1), found);
  }
  return { harness, s, d };
}

async function add({ harness, s, d }: Scene, uuid: string, { values, move, context, on }: Found): Promise<void> {
  const place = on === null ? NOWHERE : placed(on === "devstack2" ? d : s);
  addInstance(harness.store, uuid, { ...place, ...values });
  if (on !== null) {
    harness.hypervisor("devstack1").addGuest(uuid, values.powerState ?? 1);
  }
  await harness.hold(uuid, { [s.uuid]: LITTLE });
  if (!move) {
    return;
  }
  const [end, type, status] = move;
  const [from, to] = end === "source" ? [s, d] : [d, s];
  const ends: MigrationChanges = { sourceCompute: from.host, sourceNode: from.host, destCompute: to.host };
  const dest = { destNode: to.host, destComputeId: to.id };
  const migration = addMigration(harness.store, uuid, type, status, { ...ends, ...dest });
  if (type === "evacuation") {
    await harness.hold(uuid, { [s.uuid]: LITTLE, [d.uuid]: LITTLE });
  } else {
    await harness.hold(uuid, { [to.uuid]: LITTLE });
    await harness.hold(migration.uuid, { [from.uuid]: LITTLE });
  }
  if (!context) {
    return;
  }
  const none = { oldNumaTopology: null, newNumaTopology: null, oldPciDevices: [], newPciDevices: [] };
  const migrationContext = {
    instanceUuid: uuid,
    migrationId: migration.id,
    ...none,
    oldResources: [],
    newResources: [],
  };
  harness.store.instances.save(uuid, { migrationContext });
}

function movesOf({ harness }: Scene, uuid: string): readonly Migration[] {
  return harness.store.migrations.byFilters({ instanceUuid: uuid, readDeleted: true });
}

/** Returns the final status of a move whose instance is `on` a host; a completed evacuation stays so. */
function ended({ migrationType, status, destCompute }: Migration, on: string | null | undefined): Migration["status"] {
  if (migrationType !== "evacuation") {
    return "error";
  }
  return status === "done" || destCompute === on ? "done" : "failed";
}

/** A change that happens to every instance at the same time. */
interface Race {
  readonly action: (scene: Scene, uuid: string) => void | Promise<void>;
  /** Checks each instance that start-up handles itself, after the host has served for a while. */
  readonly check?: (scene: Scene, uuid: string) => void | Promise<void>;
}

export const RACES: Readonly<Record<string, Race>> = {
  "is deleted": {
    action: async ({ harness }, uuid) => {
      for (const move of movesOf({ harness } as Scene, uuid)) {
        await harness.hold(move.uuid, {});
      }
      await harness.hold(uuid, {});
      if (harness.store.instances.get(uuid)) {
        harness.store.instances.destroy(uuid);
      }
    },
  },
  "is moved to another host": {
    action: async (scene, uuid) => {
      const { harness, d } = scene;
      if (!harness.store.instances.get(uuid)) {
        return;
      }
      for (const move of movesOf(scene, uuid)) {
        harness.store.migrations.save(move.id, { status: ended(move, d.host) });
        await harness.hold(move.uuid, {});
      }
      await harness.hold(uuid, { [d.uuid]: LITTLE });
      harness.store.instances.save(uuid, { ...placed(d), vmState: "active", taskState: null });
      harness.hypervisor("devstack2").addGuest(uuid);
    },
    check: ({ harness }, uuid) => {
      const now = harness.store.instances.get(uuid);
      if (now?.host === "devstack2") {
        expect(now).toMatchObject({ vmState: "active", taskState: null });
      }
    },
  },
  "is evacuated": {
    action: (scene, uuid) => {
      const { harness, s, d } = scene;
      const now = harness.store.instances.get(uuid);
      if (now?.host !== s.host) {
        return;
      }
      harness.store.instances.save(uuid, { taskState: "rebuilding" });
      addMigration(harness.store, uuid, "evacuation", "accepted", {
        sourceCompute: s.host,
        sourceNode: s.hypervisorHostname,
        destCompute: d.host,
      });
    },
  },
  "is reset by an operator": {
    action: ({ harness }, uuid) => {
      if (harness.store.instances.get(uuid)) {
        harness.store.instances.save(uuid, { vmState: "active", taskState: null });
      }
    },
  },
  "has its migration ended": {
    action: (scene, uuid) => {
      const { migrations, instances } = scene.harness.store;
      const host = instances.get(uuid)?.host;
      for (const move of movesOf(scene, uuid)) {
        migrations.save(move.id, { status: ended(move, host) });
      }
    },
  },
};

/** The invariants about destroying a guest and its disks; violations by the races' own actions are not the agent's. */
const GUESTS = ["V1", "V2", "V3", "V5"];
/**
 * Tasks that start-up hands to operations, which check again before they begin (in their own tests); all others it
 * handles itself.
 */
const OPERATIONS: readonly (TaskState | null)[] = [
  "deleting",
  "reboot_pending",
  "powering-off",
  "powering-on",
  "pausing",
  "shelving_offloading",
  "resize_migrated",
  "resize_reverting",
];
const OWN = FOUND.flatMap(({ values: { taskState = null } }, index) =>
  OPERATIONS.includes(taskState) ? [] : uuidOf(index + 1),
);

function guestBreaches({ evidence }: Harness): readonly string[] {
  return [...evidence.breaches].filter(
    (breach) => GUESTS.some((id) => breach.startsWith(`${id} `)) && OWN.some((uuid) => breach.includes(uuid)),
  );
}

/**
 * Starts devstack1 with the race before its first call of the conductor, then before its second, and so on; the race
 * affects every instance. The host must finally serve each time. @returns the number of calls of a start without a race
 */
export async function raceBeforeEachCall(
  name: string,
  { first, each }: Sample = { first: 0, each: 1 },
): Promise<number> {
  const race = RACES[name];
  if (!race) {
    throw new Error(`there is no race called ${name}`);
  }
  for (let at = first; ; at += each) {
    const scene = await create();
    const { harness } = scene;
    const { hit, struck } = countdown(at);
    let before = "";
    harness.beforeCall = async (host, method) => {
      if (host !== "devstack1" || !hit()) {
        return;
      }
      before = `before call ${at}, ${method}`;
      for (const uuid of UUIDS) {
        await race.action(scene, uuid);
      }
    };
    const run = await harness.launch("devstack1", { ...PERIODIC, operations: "real" });
    const failure = await harness.world.runUntil(
      run.agent.start().then(
        () => null,
        (error: Error) => error,
      ),
    );
    expect(failure, before).toBeNull();
    if (!struck()) {
      return at;
    }
    harness.beforeCall = () => {};
    await harness.world.advance(130_000);
    expect(run.agent.state, before).toBe("serving");
    for (const uuid of OWN) {
      await race.check?.(scene, uuid);
    }
    expect(guestBreaches(harness), before).toEqual([]);
    run.runtime.kill();
  }
}
