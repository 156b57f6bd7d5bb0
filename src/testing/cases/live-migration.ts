import type { DriverMethod } from "../../virt/driver-methods.js";
import type { Instance, LiveMigrateData, LiveMigrationOptions } from "../../virt/index.js";
import {
  brokenOffEverywhere,
  type ContractCase,
  failsWith,
  guestOn,
  inSection,
  type KilledWork,
  must,
  mustBe,
  onGuest,
  succeeds,
  textOf,
} from "../contract-case.js";
import type { CheckedHost, DriverHarness } from "../driver-harness.js";
import { DESTROY, DEVICES } from "../harness-fixtures.js";

export const LIVE_NEEDS: readonly DriverMethod[] = [
  "checkCanLiveMigrateDestination",
  "checkCanLiveMigrateSource",
  "preLiveMigration",
  "liveMigration",
];

async function checked(source: CheckedHost, destination: CheckedHost, instance: Instance): Promise<LiveMigrateData> {
  const options = { blockMigration: null, diskOverCommit: false };
  const offered = await destination.host.checkCanLiveMigrateDestination(instance, options);
  try {
    return await source.host.checkCanLiveMigrateSource(instance, offered);
  } finally {
    await destination.host.cleanupLiveMigrationDestinationCheck(offered);
  }
}

export async function prepared(
  source: CheckedHost,
  destination: CheckedHost,
  instance: Instance,
  devices: typeof DEVICES = DEVICES,
): Promise<LiveMigrateData> {
  return destination.host.preLiveMigration(instance, {
    ...devices,
    data: await checked(source, destination, instance),
  });
}

/** Records the callbacks of an unwrapped driver. */
class CallBacks {
  readonly calls: string[] = [];
  /** The guest's host when postMethod was called. */
  atPost: string | null = null;
  progressIsSound = true;
  readonly #look: () => Promise<string>;

  constructor(look: () => Promise<string>) {
    this.#look = look;
  }

  options(data: LiveMigrateData): LiveMigrationOptions {
    return {
      blockMigration: data.blockMigration,
      data,
      onProgress: (progress) => {
        const sound = Object.values(progress).every((bytes) => Number.isFinite(bytes) && bytes >= 0);
        this.progressIsSound &&= sound && progress.memoryRemaining <= progress.memoryTotal;
      },
      postMethod: async () => {
        this.calls.push("postMethod");
        this.atPost = await this.#look();
      },
      recoverMethod: async ({ status }) => void this.calls.push(`recoverMethod(${status})`),
    };
  }
}

const RULE = "call exactly one of postMethod and recoverMethod, exactly once";

/** Runs the driver's own method, unwrapped, so that a second callback is detected. */
export async function migrate(
  [source, destination]: readonly [CheckedHost, CheckedHost],
  instance: Instance,
  data: LiveMigrateData,
  meanwhile: () => Promise<void> = async () => {},
): Promise<CallBacks> {
  const runs = async () =>
    `${await guestOn(source, instance)} on the source, ${await guestOn(destination, instance)} on the destination`;
  const callBacks = new CallBacks(runs);
  const work = source.bare.liveMigration?.(instance, destination.name, callBacks.options(data));
  await Promise.all([work?.catch((error: unknown) => callBacks.calls.push(`threw ${textOf(error)}`)), meanwhile()]);
  return callBacks;
}

/** Performs the agents' steps after the guest has moved. */
export async function finished(
  [source, destination]: readonly [CheckedHost, CheckedHost],
  instance: Instance,
  data: LiveMigrateData,
): Promise<void> {
  const options = { ...DEVICES, data };
  const left = "succeed for a guest that left";
  await succeeds(source.host.postLiveMigration(instance, options), "postLiveMigration", left);
  await succeeds(source.host.postLiveMigrationAtSource(instance, options), "postLiveMigrationAtSource", left);
  await succeeds(
    destination.host.postLiveMigrationAtDestination(instance, options),
    "postLiveMigrationAtDestination",
    "succeed for a guest that arrived",
  );
  const destroyDisks = !data.sharedInstanceFiles;
  await succeeds(source.host.cleanup(instance, { ...DEVICES, destroyDisks }), "cleanup", "remove what is left");
}

async function mustRunOnOne(
  [source, destination]: readonly [CheckedHost, CheckedHost],
  instance: Instance,
  when: string,
): Promise<void> {
  const running = [];
  for (const on of [source, destination]) {
    if ((await guestOn(on, instance)) === 1) {
      running.push(on.name);
    }
  }
  const found = running.length === 0 ? "it runs on none" : `it runs on ${running.join(" and ")}`;
  must(running.length === 1, "liveMigration", `leave the guest running on exactly one host ${when}`, found);
}

async function both(harness: DriverHarness) {
  const hosts = await harness.connectBoth();
  return { hosts, source: hosts[0], destination: hosts[1], instance: await harness.spawned(hosts[0]) };
}

const MIGRATE: KilledWork = {
  method: "liveMigration",
  begin: async (harness) => {
    const { hosts, source, destination, instance } = await both(harness);
    const data = await prepared(source, destination, instance);
    return { on: source, instance, moved: null, work: () => migrate(hosts, instance, data) };
  },
  look: async (harness, { instance }, killed) => {
    const [next, destination] = await harness.connectBoth();
    await next.host.liveMigrationAbort(instance).catch(() => {});
    await mustRunOnOne([next, destination], instance, killed);
  },
};

/** Section 8.3: live migration. */
export const LIVE_MIGRATION_CASES: readonly ContractCase[] = inSection("8.3", [
  {
    code: "live-moves",
    rule: "liveMigration calls postMethod once, when the guest runs on the destination and no longer on the source",
    needs: LIVE_NEEDS,
    run: async (harness) => {
      const { hosts, source, destination, instance } = await both(harness);
      const data = await prepared(source, destination, instance);
      const { calls, atPost, progressIsSound } = await migrate(hosts, instance, data);
      must(calls.join() === "postMethod", "liveMigration", RULE, `found ${calls.join(", ") || "no call"}`);
      const rule = "call postMethod when the guest runs on the destination only";
      must(/^(absent|4) .*, 1 /.test(atPost ?? ""), "liveMigration", rule, `its state was ${atPost}`);
      must(progressIsSound, "liveMigration", "report amounts of bytes, 0 or more, none over its total", "found others");
      await finished(hosts, instance, data);
      await mustBe(source, instance, "absent", "cleanup", "on the source");
      await mustBe(destination, instance, "running", "liveMigration", "on the destination");
      await succeeds(source.host.cleanup(instance, DESTROY), "cleanup", "succeed when nothing is left");
    },
  },
  {
    code: "live-abort",
    rule: "liveMigrationAbort ends the migration with recoverMethod(cancelled), or comes too late; the guest runs on one host",
    needs: [...LIVE_NEEDS, "liveMigrationAbort"],
    run: async (harness) => {
      const { hosts, source, destination, instance } = await both(harness);
      const data = await prepared(source, destination, instance);
      const { calls } = await migrate(hosts, instance, data, async () => {
        await harness.wait(50);
        await source.host.liveMigrationAbort(instance).catch(() => {});
      });
      const allowed = ["postMethod", "recoverMethod(cancelled)"];
      must(
        allowed.includes(calls.join()),
        "liveMigration",
        `${RULE}, even when it is aborted`,
        `found ${calls.join(", ")}`,
      );
      await mustRunOnOne(hosts, instance, "when it is aborted");
    },
  },
  {
    code: "live-abort-back",
    rule: "after a live migration, the guest runs on one host when its migration back is aborted, however early",
    needs: [...LIVE_NEEDS, "liveMigrationAbort"],
    run: async (harness) => {
      for (const wait of [0, 10, 40]) {
        const { hosts, source, destination, instance } = await both(harness);
        const data = await prepared(source, destination, instance);
        await migrate(hosts, instance, data);
        await finished(hosts, instance, data);
        const back = await prepared(destination, source, instance);
        await migrate([destination, source], instance, back, async () => {
          await harness.wait(wait);
          await destination.host.liveMigrationAbort(instance).catch(() => {});
        });
        await mustRunOnOne(hosts, instance, `when its migration back is aborted after ${wait} ms`);
        await harness.destroyGuests();
      }
    },
  },
  {
    code: "live-force-complete",
    rule: "a liveMigration that is forced to complete calls back exactly once; the guest runs on one host",
    needs: [...LIVE_NEEDS, "liveMigrationForceComplete"],
    run: async (harness) => {
      const { hosts, source, destination, instance } = await both(harness);
      const data = await prepared(source, destination, instance);
      const { calls } = await migrate(hosts, instance, data, async () => {
        await harness.wait(50);
        await source.host.liveMigrationForceComplete(instance).catch(() => {});
      });
      const once = calls.length === 1 && /^(postMethod|recoverMethod)/.test(calls[0] ?? "");
      must(
        once,
        "liveMigration",
        `${RULE}, even when it is forced to complete`,
        `found ${calls.join(", ") || "no call"}`,
      );
      await mustRunOnOne(hosts, instance, "when it is forced to complete");
    },
  },
  {
    code: "live-fails",
    rule: "a liveMigration that fails anywhere calls back exactly once, or throws without a callback",
    needs: LIVE_NEEDS,
    run: async (harness) => {
      for (let call = 1; call <= 60; call += 1) {
        const { hosts, source, destination, instance } = await both(harness);
        const data = await prepared(source, destination, instance);
        source.sabotage.arm(call);
        const { calls } = await migrate(hosts, instance, data);
        const { struck } = source.sabotage;
        source.sabotage.disarm();
        const back = calls.filter((each) => !each.startsWith("threw"));
        const held = back.length === 1 || (back.length === 0 && calls.length === 1);
        must(held, "liveMigration", RULE, `found ${calls.join(", ") || "no call"} when it failed at call ${call}`);
        await harness.destroyGuests();
        if (!struck) {
          break;
        }
      }
    },
  },
  {
    code: "live-abort-nothing",
    rule: "liveMigrationAbort with nothing to stop is success",
    needs: ["liveMigrationAbort"],
    run: onGuest(async (on, instance) => {
      await succeeds(on.host.liveMigrationAbort(instance), "liveMigrationAbort", "succeed with nothing to stop");
      await mustBe(on, instance, "running", "liveMigrationAbort", "with nothing to stop");
    }),
  },
  {
    code: "live-killed",
    rule: "after a liveMigration was killed anywhere and aborted by the next driver, the guest runs on one host",
    needs: [...LIVE_NEEDS, "liveMigrationAbort"],
    run: (harness) => brokenOffEverywhere(harness, MIGRATE),
    killed: MIGRATE,
  },
  {
    code: "live-rollback",
    rule: "rollbackLiveMigrationAtDestination removes what preLiveMigration created, and can be repeated",
    needs: LIVE_NEEDS,
    run: async (harness) => {
      const { source, destination, instance } = await both(harness);
      const data = await prepared(source, destination, instance);
      const roll = () =>
        destination.host.rollbackLiveMigrationAtDestination(instance, {
          ...DEVICES,
          destroyDisks: !data.sharedInstanceFiles,
          data,
        });
      const rule = "succeed for a guest that stays";
      const options = { ...DEVICES, data };
      const atSource = source.host.rollbackLiveMigrationAtSource(instance, options);
      await succeeds(atSource, "rollbackLiveMigrationAtSource", rule);
      await succeeds(roll(), "rollbackLiveMigrationAtDestination", "remove what was prepared");
      await mustBe(destination, instance, "absent", "rollbackLiveMigrationAtDestination", "on the destination");
      await mustBe(source, instance, "running", "rollbackLiveMigrationAtDestination", "on the source");
      await succeeds(roll(), "rollbackLiveMigrationAtDestination", "succeed when nothing is left");
      await prepared(source, destination, instance);
    },
  },
  {
    code: "live-check-absent",
    rule: "checkCanLiveMigrateSource rejects a missing guest",
    needs: LIVE_NEEDS,
    run: async (harness) => {
      const [source, destination] = await harness.connectBoth();
      const instance = await harness.instance(source);
      const names = ["MigrationPreCheckError", "InstanceNotFound"];
      await failsWith(
        checked(source, destination, instance),
        names,
        "checkCanLiveMigrateSource",
        "for a missing guest",
      );
    },
  },
  {
    code: "live-cleanup-running",
    rule: "cleanup of a guest that runs here throws InstanceExists and removes nothing",
    needs: [...LIVE_NEEDS, "cleanup"],
    run: onGuest(async (on, instance) => {
      const work = on.host.cleanup(instance, DESTROY);
      await failsWith(work, ["InstanceExists"], "cleanup", "for a guest that runs here");
      await mustBe(on, instance, "running", "cleanup", "that runs here");
    }),
  },
]);
