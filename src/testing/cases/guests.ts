import {
  brokenOffEverywhere,
  type ContractCase,
  guestOn,
  inSection,
  type KilledWork,
  must,
  mustBe,
  onGuest,
  succeeds,
} from "../contract-case.js";
import type { CheckedHost, DriverHarness } from "../driver-harness.js";
import { DESTROY } from "../harness-fixtures.js";

/** Number of guests that are built concurrently. */
const SOME = 4;

function several(harness: DriverHarness, on: CheckedHost) {
  return Promise.all(Array.from({ length: SOME }, () => harness.instance(on)));
}

const SPAWN: KilledWork = {
  method: "spawn",
  begin: async (harness) => {
    const on = await harness.connect();
    const instance = await harness.instance(on);
    return { on, instance, moved: null, work: () => harness.spawn(on, instance) };
  },
  look: async (harness, { instance }, killed) => {
    const next = await harness.connect();
    const state = await guestOn(next, instance);
    const isComplete = state === "absent" || state === 1 || state === 4;
    must(isComplete, "spawn", `leave a complete guest or nothing ${killed}`, `it left one in state ${state}`);
    await succeeds(next.host.destroy(instance, DESTROY), "destroy", `remove what a spawn left ${killed}`);
    await next.host.failedSpawnCleanup(instance);
    await mustBe(next, instance, "absent", "destroy", killed);
  },
};

/** Section 8.2: creation of guests. */
export const GUEST_CASES: readonly ContractCase[] = inSection("8.2", [
  {
    code: "spawn-runs",
    rule: "spawn creates a running guest",
    run: async (harness) => {
      const on = await harness.connect();
      await mustBe(on, await harness.spawned(on), "running", "spawn", "when it is done");
    },
  },
  {
    code: "spawn-powered-off",
    rule: "spawn with powerOn false defines the guest and leaves it shut down",
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.instance(on);
      await harness.spawn(on, instance, { powerOn: false });
      await mustBe(on, instance, "shutdown", "spawn", "with powerOn false");
    },
  },
  {
    code: "spawn-twice",
    rule: "spawn of an existing guest does not harm it",
    run: onGuest(async (on, instance, harness) => {
      await harness.spawn(on, instance).catch(() => {});
      await mustBe(on, instance, "running", "spawn", "that was there before a second spawn");
    }),
  },
  {
    code: "spawn-all-or-nothing",
    rule: "after an interrupted spawn, destroy removes all leftovers, and the guest can be spawned again",
    run: (harness) => brokenOffEverywhere(harness, SPAWN),
    killed: SPAWN,
  },
  {
    code: "spawn-concurrently",
    rule: "guests can be spawned and destroyed concurrently",
    run: async (harness) => {
      const on = await harness.connect();
      const instances = await several(harness, on);
      const nodes = new Set(instances.map(({ node }) => node));
      // Nodes that take one guest each get no second one.
      const own = nodes.size === 1 ? instances : instances.slice(0, nodes.size);
      await succeeds(
        Promise.all(own.map((each) => harness.spawn(on, each))),
        "spawn",
        "work for several guests at once",
      );
      for (const each of own) {
        await mustBe(on, each, "running", "spawn", "beside others");
      }
      await succeeds(
        Promise.all(own.map((each) => on.host.destroy(each, DESTROY))),
        "destroy",
        "work for several guests at once",
      );
      for (const each of own) {
        await mustBe(on, each, "absent", "destroy", "beside others");
      }
    },
  },
  {
    code: "prepare-is-undone",
    rule: "failedSpawnCleanup undoes prepareForSpawn, can be repeated, and succeeds when nothing was prepared",
    needs: ["failedSpawnCleanup"],
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.instance(on);
      const rule = "succeed when nothing was prepared";
      await succeeds(on.host.failedSpawnCleanup(instance), "failedSpawnCleanup", rule);
      await on.host.prepareForSpawn(instance);
      await succeeds(on.host.failedSpawnCleanup(instance), "failedSpawnCleanup", "undo prepareForSpawn");
      await succeeds(on.host.failedSpawnCleanup(instance), "failedSpawnCleanup", "succeed when it is repeated");
      await harness.spawn(on, instance);
      await mustBe(on, instance, "running", "prepareForSpawn", "that was prepared again after a cleanup");
    },
  },
  {
    code: "rebuild-in-place",
    rule: "rebuild recreates the guest and leaves it running",
    needs: ["rebuild"],
    run: onGuest(async (on, instance, harness) => {
      await succeeds(harness.rebuild(on, instance), "rebuild", "recreate the guest");
      await mustBe(on, instance, "running", "rebuild", "when it is done");
    }),
  },
  {
    code: "vifs-plug-again",
    rule: "plugVifs and unplugVifs can be repeated",
    needs: ["plugVifs", "unplugVifs"],
    run: onGuest(async (on, instance) => {
      await succeeds(on.host.plugVifs(instance), "plugVifs", "succeed for a guest that has its ports");
      await succeeds(on.host.plugVifs(instance), "plugVifs", "succeed when it is repeated");
      await succeeds(on.host.unplugVifs(instance), "unplugVifs", "succeed");
      await succeeds(on.host.unplugVifs(instance), "unplugVifs", "succeed when it is repeated");
    }),
  },
]);
