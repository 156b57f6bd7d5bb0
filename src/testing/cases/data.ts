import type { DriverMethod } from "../../virt/driver-methods.js";
import type { Instance } from "../../virt/index.js";
import { type ContractCase, ContractViolation, mustBe, onGuest } from "../contract-case.js";
import type { CheckedHost, DriverHarness } from "../driver-harness.js";
import { DESTROY, DEVICES, frozen, resizedTo } from "../harness-fixtures.js";
import type { CanaryPlace } from "../options.js";
import { arrive, back, leave, MOVES, migration, REVERT } from "./cold-moves.js";
import { finished, LIVE_NEEDS, migrate, prepared } from "./live-migration.js";

type Keeper = "disk" | "memory";

/** Test data in a guest. */
class PlacedCanary {
  readonly #harness: DriverHarness;
  readonly #place: CanaryPlace;
  readonly #keeper: Keeper;
  readonly #text: string;

  constructor(harness: DriverHarness, place: CanaryPlace, keeper: Keeper, text: string) {
    this.#harness = harness;
    this.#place = place;
    this.#keeper = keeper;
    this.#text = text;
  }

  /** @throws {Error} the written text cannot be read back, or was there before */
  static async put(harness: DriverHarness, on: CheckedHost, instance: Instance, keeper: Keeper): Promise<PlacedCanary> {
    const { canary } = harness.options;
    const place = keeper === "disk" ? canary : canary?.memory;
    if (place === undefined) {
      throw unfitCanary(`the option canary cannot access the ${keeper}`);
    }
    const text = `canary ${instance.uuid.slice(0, 8)}`;
    const guest = harness.canaryGuest(on, instance);
    if ((await place.read(guest)) === text) {
      throw unfitCanary(`canary.read returned the ${keeper}'s test data before they were written`);
    }
    await place.write(guest, text);
    const found = await place.read(guest);
    if (found !== text) {
      throw unfitCanary(
        `canary.read returned ${describeText(found)} from the ${keeper}, right after canary.write wrote ${text}`,
      );
    }
    return new PlacedCanary(harness, place, keeper, text);
  }

  /** @throws {ContractViolation} the text is no longer there */
  async mustBeIn(on: CheckedHost, instance: Instance, method: string, when: string): Promise<void> {
    const rule = `preserve the guest's ${this.#keeper} ${when}`;
    let found: string | undefined;
    try {
      found = await this.#place.read(this.#harness.canaryGuest(on, instance));
    } catch (error) {
      throw new ContractViolation(method, rule, `canary.read threw ${String(error)}`, { cause: error });
    }
    if (found !== this.#text) {
      const what = found === undefined || found === "" ? "they are gone" : `found ${describeText(found)} instead`;
      throw new ContractViolation(method, rule, `test data were changed: ${what}`);
    }
  }
}

/** Returns the error if the check's canary option is at fault, not the driver. */
const unfitCanary = (message: string): Error => Object.assign(new Error(message), { name: "CanaryUnfit" });

const SNAPSHOT = "66666666-6666-4666-8666-666666666666";

/** The server, and the host of its guest. */
type Placed = readonly [on: CheckedHost, instance: Instance];

/** A change or move after which guests must still have their data. */
interface Trip {
  readonly code: string;
  /** For messages: `over a stop and a start` */
  readonly when: string;
  /** The method to report if data is lost. */
  readonly method: DriverMethod;
  readonly needs?: readonly DriverMethod[];
  readonly retains: readonly Keeper[];
  readonly go: (harness: DriverHarness, on: CheckedHost, instance: Instance) => Promise<Placed>;
}

/** Wraps a change of the guest that does not move it. */
function onTheSpot(change: (on: CheckedHost, instance: Instance) => Promise<void>): Trip["go"] {
  return async (_, on, instance) => {
    await change(on, instance);
    return [on, instance];
  };
}

const BOTH: readonly Keeper[] = ["disk", "memory"];

const TRIPS: readonly Trip[] = [
  {
    code: "reboot",
    when: "over a reboot",
    method: "reboot",
    retains: ["disk"],
    go: onTheSpot(async ({ host }, instance) => {
      await host.reboot(instance, "SOFT");
      await host.reboot(instance, "HARD");
    }),
  },
  {
    code: "stop",
    when: "over a stop and a start",
    method: "powerOff",
    retains: ["disk"],
    go: onTheSpot(async ({ host }, instance) => {
      await host.powerOff(instance);
      await host.powerOn(instance);
    }),
  },
  {
    code: "pause",
    when: "over a pause",
    method: "pause",
    needs: ["pause", "unpause"],
    retains: BOTH,
    go: onTheSpot(async ({ host }, instance) => {
      await host.pause(instance);
      await host.unpause(instance);
    }),
  },
  {
    code: "suspend",
    when: "from suspend to resume",
    method: "suspend",
    needs: ["suspend", "resume"],
    retains: BOTH,
    go: onTheSpot(async ({ host }, instance) => {
      await host.suspend(instance);
      await host.resume(instance);
    }),
  },
  {
    code: "rescue",
    when: "from rescue to unrescue",
    method: "rescue",
    needs: ["rescue", "unrescue"],
    retains: ["disk"],
    go: async (harness, on, instance) => {
      await on.host.rescue(instance, { ...DEVICES, image: harness.image });
      await on.host.unrescue(instance);
      return [on, instance];
    },
  },
  {
    code: "restart",
    when: "when the next driver takes the host",
    method: "cleanupHost",
    retains: BOTH,
    go: async (harness, { host }, instance) => {
      await host.cleanupHost();
      return [await harness.connect(), instance];
    },
  },
  {
    code: "snapshot",
    when: "in a guest that is built from its snapshot",
    method: "snapshot",
    needs: ["snapshot"],
    retains: ["disk"],
    go: async (harness, on, instance) => {
      await on.host.snapshot(instance, SNAPSHOT, { updateTaskState: async () => {} });
      const copy = await harness.instance(on);
      await harness.spawn(on, copy, { image: frozen({ ...harness.image, id: SNAPSHOT, name: "snapshot" }) });
      return [on, copy];
    },
  },
  {
    code: "shelve",
    when: "from shelve to unshelve on another host",
    method: "snapshot",
    needs: ["snapshot"],
    retains: ["disk"],
    go: async (harness, on, instance) => {
      await on.host.powerOff(instance);
      await on.host.snapshot(instance, SNAPSHOT, { updateTaskState: async () => {} });
      await on.host.destroy(instance, DESTROY);
      const other = await harness.connect("check-host-2");
      const moved = await harness.moved(instance, other);
      await harness.spawn(other, moved, { image: frozen({ ...harness.image, id: SNAPSHOT, name: "snapshot" }) });
      return [other, moved];
    },
  },
  {
    code: "cold-migration",
    when: "over a cold migration",
    method: "finishMigration",
    needs: MOVES,
    retains: ["disk"],
    go: async (harness, source, instance) => {
      const destination = await harness.connect("check-host-2");
      const disks = await leave(source, instance, destination);
      const moved = await harness.moved(instance, destination);
      await arrive(harness, destination, moved, disks);
      await source.host.confirmMigration(migration(instance, destination), moved, { network: [] });
      return [destination, moved];
    },
  },
  {
    code: "resize",
    when: "over a resize on the same host",
    method: "finishMigration",
    needs: MOVES,
    retains: ["disk"],
    go: async (harness, on, instance) => {
      const disks = await leave(on, instance, on, harness.largerFlavor);
      const resized = resizedTo(instance, harness.largerFlavor);
      await arrive(harness, on, resized, disks, { resizeInstance: true });
      await on.host.confirmMigration(migration(instance, on), resized, { network: [] });
      return [on, resized];
    },
  },
  {
    code: "resize-away",
    when: "over a resize to another host",
    method: "finishMigration",
    needs: MOVES,
    retains: ["disk"],
    go: async (harness, source, instance) => {
      const destination = await harness.connect("check-host-2");
      const disks = await leave(source, instance, destination, harness.largerFlavor);
      const resized = resizedTo(await harness.moved(instance, destination), harness.largerFlavor);
      await arrive(harness, destination, resized, disks, { resizeInstance: true });
      await source.host.confirmMigration(migration(instance, destination), resized, { network: [] });
      return [destination, resized];
    },
  },
  {
    code: "revert",
    when: "over a migration that is reverted",
    method: "finishRevertMigration",
    needs: REVERT,
    retains: ["disk"],
    go: async (harness, source, instance) => {
      const destination = await harness.connect("check-host-2");
      const disks = await leave(source, instance, destination);
      const moved = await harness.moved(instance, destination);
      await arrive(harness, destination, moved, disks);
      await destination.host.destroy(moved, DESTROY);
      await back(source, instance);
      return [source, await harness.moved(instance, source)];
    },
  },
  {
    code: "live-migration",
    when: "over a live migration",
    method: "liveMigration",
    needs: LIVE_NEEDS,
    retains: BOTH,
    go: async (harness, source, instance) => {
      const destination = await harness.connect("check-host-2");
      const hosts = [source, destination] as const;
      const data = await prepared(source, destination, instance);
      await migrate(hosts, instance, data);
      await finished(hosts, instance, data);
      await mustBe(destination, instance, "running", "liveMigration", "on the destination");
      return [destination, await harness.moved(instance, destination)];
    },
  },
];

function caseOf({ code, when, method, needs = [], go }: Trip, keeper: Keeper): ContractCase {
  return {
    code: `${keeper}-${code}`,
    section: "8.12",
    rule: `a guest preserves the data ${keeper === "disk" ? "on its disk" : "in its memory"} ${when}`,
    needs,
    option: keeper === "disk" ? "canary" : "canary.memory",
    run: onGuest(async (on, instance, harness) => {
      const canary = await PlacedCanary.put(harness, on, instance, keeper);
      await canary.mustBeIn(...(await go(harness, on, instance)), method, when);
    }),
  };
}

/** Section 8.12: preservation of guests' data. */
export const DATA_CASES: readonly ContractCase[] = TRIPS.flatMap((trip) =>
  trip.retains.map((keeper) => caseOf(trip, keeper)),
);

function describeText(text: string | undefined): string {
  return text === undefined ? "nothing" : JSON.stringify(text.slice(0, 80));
}
