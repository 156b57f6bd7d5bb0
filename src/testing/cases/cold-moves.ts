import type { DriverMethod } from "../../virt/driver-methods.js";
import type { Flavor, Instance } from "../../virt/index.js";
import {
  brokenOffEverywhere,
  type ContractCase,
  guestOn,
  inSection,
  type KilledWork,
  must,
  mustBe,
  onGuest,
  onTwoHosts,
  succeeds,
  textOf,
} from "../contract-case.js";
import type { CheckedHost, DriverHarness } from "../driver-harness.js";
import { DESTROY, DEVICES, frozen, imageOf, migrationOf, resizedTo } from "../harness-fixtures.js";

export const MOVES: readonly DriverMethod[] = ["migrateDiskAndPowerOff", "finishMigration", "confirmMigration"];
export const REVERT: readonly DriverMethod[] = [...MOVES, "finishRevertMigration"];

export function leave(
  { host }: CheckedHost,
  instance: Instance,
  { ip }: CheckedHost,
  flavor: Flavor = instance.flavor,
  devices: typeof DEVICES = DEVICES,
) {
  return host.migrateDiskAndPowerOff(instance, { ...devices, destIp: ip, flavor });
}

export function migration(instance: Instance, to: CheckedHost) {
  return migrationOf(instance, { host: to.name, node: to.name, ip: to.ip });
}

interface Arrival {
  /** Default true. */
  readonly powerOn?: boolean;
  /** Default false. */
  readonly resizeInstance?: boolean;
  /** Default: local disks only. */
  readonly devices?: typeof DEVICES;
}

export async function arrive(
  harness: DriverHarness,
  on: CheckedHost,
  instance: Instance,
  disks: string,
  { powerOn = true, resizeInstance = false, devices = DEVICES }: Arrival = {},
): Promise<void> {
  const image = frozen(imageOf(harness.options.image));
  const allocations = await harness.allocations(on, instance);
  const record = migrationOf(instance, { host: on.name, node: on.name, ip: on.ip });
  await on.host.finishMigration(record, instance, disks, {
    ...devices,
    image,
    allocations,
    resizeInstance,
    powerOn,
  });
}

export function back({ host }: CheckedHost, instance: Instance, powerOn = true, devices: typeof DEVICES = DEVICES) {
  return host.finishRevertMigration(instance, { ...devices, migration: null, powerOn });
}

const FINISH: KilledWork = {
  method: "finishMigration",
  begin: async (harness) => {
    const [source, destination] = await harness.connectBoth();
    const instance = await harness.spawned(source);
    const moved = await harness.moved(instance, destination);
    const disks = await leave(source, instance, destination);
    return { on: destination, instance, moved, work: () => arrive(harness, destination, moved, disks) };
  },
  look: async (harness, { instance, moved }, killed) => {
    const [source, next] = await harness.connectBoth();
    const away = moved ?? instance;
    await succeeds(next.host.destroy(away, DESTROY), "destroy", `succeed ${killed}`);
    await mustBe(next, away, "absent", "destroy", killed);
    await succeeds(back(source, instance), "finishRevertMigration", `bring the guest back ${killed}`);
    await mustBe(source, instance, "running", "finishRevertMigration", killed);
  },
};

const LEAVE: KilledWork = {
  method: "migrateDiskAndPowerOff",
  begin: async (harness) => {
    const [source, destination] = await harness.connectBoth();
    const instance = await harness.spawned(source);
    return { on: source, instance, moved: null, work: () => leave(source, instance, destination) };
  },
  look: async (harness, { instance }, killed) => {
    const next = await harness.connect();
    await succeeds(back(next, instance), "finishRevertMigration", `bring the guest back ${killed}`);
    await mustBe(next, instance, "running", "finishRevertMigration", killed);
  },
};

/** Section 8.3: cold migration and resize. */
export const COLD_MOVE_CASES: readonly ContractCase[] = inSection("8.3", [
  {
    code: "cold-confirm",
    rule: "a cold migration that is confirmed leaves the guest on the destination and nothing on the source",
    needs: MOVES,
    run: onTwoHosts(async (source, destination, instance, harness) => {
      const disks = await leave(source, instance, destination);
      const left = await guestOn(source, instance);
      must(left === "absent" || left === 4, "migrateDiskAndPowerOff", "stop the guest", "it is not stopped");
      const moved = await harness.moved(instance, destination);
      await arrive(harness, destination, moved, disks);
      await mustBe(destination, moved, "running", "finishMigration", "on the destination");
      const record = migration(instance, destination);
      await source.host.confirmMigration(record, moved, { network: [] });
      await mustBe(source, moved, "absent", "confirmMigration", "on the source");
      await mustBe(destination, moved, "running", "confirmMigration", "on the destination");
      await succeeds(
        source.host.confirmMigration(record, moved, { network: [] }),
        "confirmMigration",
        "succeed when nothing is left",
      );
    }),
  },
  {
    code: "cold-powered-off",
    rule: "finishMigration with powerOn false leaves the guest shut down",
    needs: MOVES,
    run: onTwoHosts(async (source, destination, instance, harness) => {
      const moved = await harness.moved(instance, destination);
      await arrive(harness, destination, moved, await leave(source, instance, destination), { powerOn: false });
      await mustBe(destination, moved, "shutdown", "finishMigration", "with powerOn false");
    }),
  },
  {
    code: "cold-revert",
    rule: "a migration that is reverted leaves the guest on the source and nothing on the destination",
    needs: REVERT,
    run: onTwoHosts(async (source, destination, instance, harness) => {
      const moved = await harness.moved(instance, destination);
      await arrive(harness, destination, moved, await leave(source, instance, destination));
      await destination.host.destroy(moved, DESTROY);
      await succeeds(back(source, instance), "finishRevertMigration", "bring the guest back");
      await mustBe(source, instance, "running", "finishRevertMigration", "on the source");
      await mustBe(destination, moved, "absent", "destroy", "on the destination of a reverted migration");
      await succeeds(back(source, instance), "finishRevertMigration", "succeed when it is repeated");
      await mustBe(source, instance, "running", "finishRevertMigration", "when it is repeated");
    }),
  },
  {
    code: "cold-revert-powered-off",
    rule: "a guest that was shut down can be moved, and finishRevertMigration with powerOn false leaves it shut down",
    needs: REVERT,
    run: onTwoHosts(async (source, destination, instance, harness) => {
      await source.host.powerOff(instance);
      const moved = await harness.moved(instance, destination);
      const disks = await succeeds(
        leave(source, instance, destination),
        "migrateDiskAndPowerOff",
        "take a stopped guest",
      );
      await arrive(harness, destination, moved, disks, { powerOn: false });
      await destination.host.destroy(moved, DESTROY);
      await succeeds(back(source, instance, false), "finishRevertMigration", "bring a stopped guest back");
      await mustBe(source, instance, "shutdown", "finishRevertMigration", "with powerOn false");
    }),
  },
  {
    code: "cold-finish-half-done",
    rule: "after finishMigration was killed anywhere, destroy removes the leftovers, and the guest can return",
    needs: REVERT,
    run: (harness) => brokenOffEverywhere(harness, FINISH),
    killed: FINISH,
  },
  {
    code: "cold-revert-half-done",
    rule: "finishRevertMigration restores the guest after migrateDiskAndPowerOff was killed anywhere",
    needs: REVERT,
    run: (harness) => brokenOffEverywhere(harness, LEAVE),
    killed: LEAVE,
  },
  {
    code: "cold-revert-not-begun",
    rule: "finishRevertMigration of a move that never began leaves the guest running",
    needs: REVERT,
    run: async (harness) => {
      const source = await harness.connect();
      const instance = await harness.spawned(source);
      await succeeds(back(source, instance), "finishRevertMigration", "succeed when nothing was moved");
      await mustBe(source, instance, "running", "finishRevertMigration", "when nothing was moved");
    },
  },
  {
    code: "resize-grows",
    rule: "a resize to another host gives the guest its new flavor, and a revert the old one",
    needs: REVERT,
    run: onTwoHosts(async (source, destination, instance, harness) => {
      const flavor = harness.largerFlavor;
      const disks = await leave(source, instance, destination, flavor);
      const moved = resizedTo(await harness.moved(instance, destination), flavor);
      await arrive(harness, destination, moved, disks, { resizeInstance: true });
      await mustBe(destination, moved, "running", "finishMigration", "with its new flavor");
      await destination.host.destroy(moved, DESTROY);
      await succeeds(back(source, instance), "finishRevertMigration", "bring the old flavor back");
      await mustBe(source, instance, "running", "finishRevertMigration", "with its old flavor");
    }),
  },
  {
    code: "resize-refused",
    rule: "migrateDiskAndPowerOff that rejects a smaller flavor throws InstanceFaultRollback and leaves the guest as it was",
    needs: REVERT,
    run: async (harness) => {
      const [source, destination] = await harness.connectBoth();
      const instance = await harness.instance(source);
      const large = frozen({ ...resizedTo(instance, harness.largerFlavor), oldFlavor: null });
      await harness.spawn(source, large);
      const rejection = await leave(source, large, destination, harness.flavor).then(
        () => null,
        (error: unknown) => error,
      );
      if (rejection === null) {
        return;
      }
      const named =
        rejection instanceof Error && ["InstanceFaultRollback", "NotImplementedError"].includes(rejection.name);
      const rule = "throw InstanceFaultRollback for a flavor that it rejects";
      must(named, "migrateDiskAndPowerOff", rule, `it threw ${textOf(rejection)}`);
      await mustBe(source, large, "running", "migrateDiskAndPowerOff", "whose resize was rejected");
    },
  },
  {
    code: "resize-same-host",
    rule: "a resize on the same host preserves the guest: its confirmation destroys nothing",
    needs: MOVES,
    run: onGuest(async (on, instance, harness) => {
      const disks = await leave(on, instance, on, harness.largerFlavor);
      const resized = resizedTo(instance, harness.largerFlavor);
      await arrive(harness, on, resized, disks, { resizeInstance: true });
      await mustBe(on, resized, "running", "finishMigration", "on the same host");
      await on.host.confirmMigration(migration(instance, on), resized, { network: [] });
      await mustBe(on, resized, "running", "confirmMigration", "on the same host");
    }),
  },
  {
    code: "resize-same-host-revert",
    rule: "a reverted resize on the same host preserves the guest, with its old flavor",
    needs: REVERT,
    run: onGuest(async (on, instance, harness) => {
      const disks = await leave(on, instance, on, harness.largerFlavor);
      const resized = resizedTo(instance, harness.largerFlavor);
      await arrive(harness, on, resized, disks, { resizeInstance: true });
      // Both hosts access the same files, so the destination must preserve them.
      await on.host.destroy(resized, { ...DEVICES, destroyDisks: false });
      await succeeds(back(on, instance), "finishRevertMigration", "bring the guest back on the same host");
      await mustBe(on, instance, "running", "finishRevertMigration", "on the same host");
    }),
  },
]);
