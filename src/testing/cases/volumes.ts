import type { DriverMethod } from "../../virt/driver-methods.js";
import type { BlockDeviceInfo, GuestVolume, Instance } from "../../virt/index.js";
import { type ContractCase, failsWith, inSection, must, mustBe, succeeds } from "../contract-case.js";
import type { CheckedHost, DriverHarness } from "../driver-harness.js";
import { DESTROY, DEVICES, frozen, imageOf } from "../harness-fixtures.js";
import { arrive, back, leave, MOVES, migration, REVERT } from "./cold-moves.js";
import { finished, LIVE_NEEDS, migrate, prepared } from "./live-migration.js";

const NEEDS: readonly DriverMethod[] = ["getVolumeConnector", "attachVolume", "detachVolume", "listVolumes"];

function volumeOf(name: string, changes: Partial<GuestVolume> = {}): GuestVolume {
  return frozen({
    volumeId: `7777777${name}-7777-4777-8777-777777777777`,
    deviceName: `/dev/vd${name}`,
    diskBus: "virtio",
    deviceType: "disk",
    bootIndex: null,
    size: 1,
    tag: null,
    isShareable: false,
    connectionInfo: {
      driver_volume_type: "iscsi",
      data: { target_portal: "10.0.0.9:3260", target_iqn: `iqn.2010-10.org.openstack:volume-${name}`, target_lun: 0 },
    },
    ...changes,
  });
}

const DATA = volumeOf("b");
const OTHER = volumeOf("c");
const ROOT = volumeOf("a", { bootIndex: 0 });

function devicesOf(...volumes: readonly GuestVolume[]): {
  readonly network: [];
  readonly blockDevices: BlockDeviceInfo;
} {
  return frozen({ network: [], blockDevices: { ...DEVICES.blockDevices, volumes } });
}

/** Asserts that the guest has exactly these volumes, under their names. */
async function mustHave(
  on: CheckedHost,
  instance: Instance,
  volumes: readonly GuestVolume[],
  method: DriverMethod,
  when: string,
): Promise<void> {
  const label = (list: readonly { readonly volumeId: string; readonly deviceName: string }[]) =>
    list.map(({ volumeId, deviceName }) => `${volumeId} as ${deviceName}`).sort();
  const found = label(await on.host.listVolumes(instance));
  const rule = `leave the guest with ${label(volumes).join(", ") || "no volumes"} ${when}`;
  must(found.join() === label(volumes).join(), method, rule, `it has ${found.join(", ") || "none"}`);
}

/** Creates the check of a rule about a running guest with these volumes. */
function onGuestWith(
  volumes: readonly GuestVolume[],
  check: (on: CheckedHost, instance: Instance, harness: DriverHarness) => Promise<void>,
): ContractCase["run"] {
  return async (harness) => {
    const on = await harness.connect();
    const instance = await harness.instance(on);
    await harness.spawn(on, instance, devicesOf(...volumes));
    await check(on, instance, harness);
  };
}

/** A power state in which volumes are plugged, and the way to it. */
interface PlugState {
  readonly state: "running" | "paused" | "suspended" | "shutdown";
  readonly needs?: readonly DriverMethod[];
  readonly enter: (on: CheckedHost, instance: Instance) => Promise<void>;
}

const PLUG_STATES: readonly PlugState[] = [
  { state: "running", enter: async () => {} },
  { state: "paused", needs: ["pause"], enter: ({ host }, instance) => host.pause(instance) },
  { state: "suspended", needs: ["suspend"], enter: ({ host }, instance) => host.suspend(instance) },
  { state: "shutdown", enter: ({ host }, instance) => host.powerOff(instance) },
];

function plugCase({ state, needs = [], enter }: PlugState): ContractCase {
  return {
    code: `volume-plug-${state}`,
    section: "8.16",
    rule: `attachVolume and detachVolume work on a guest that is ${state}, and leave it ${state}`,
    needs: [...NEEDS, ...needs],
    run: onGuestWith([DATA], async (on, instance) => {
      await enter(on, instance);
      await succeeds(on.host.attachVolume(instance, OTHER), "attachVolume", `work on a guest that is ${state}`);
      await mustHave(on, instance, [DATA, OTHER], "attachVolume", `that is ${state}`);
      await mustBe(on, instance, state, "attachVolume", "in its power state");
      await succeeds(on.host.detachVolume(instance, DATA), "detachVolume", `work on a guest that is ${state}`);
      await mustHave(on, instance, [OTHER], "detachVolume", `that is ${state}`);
      await mustBe(on, instance, state, "detachVolume", "in its power state");
    }),
  };
}

/** A change or move after which a guest must still have its volumes. */
interface Trip {
  readonly code: string;
  /** For messages: `over a reboot` */
  readonly when: string;
  /** The method to report if a volume is lost. */
  readonly method: DriverMethod;
  readonly needs?: readonly DriverMethod[];
  readonly go: (
    harness: DriverHarness,
    on: CheckedHost,
    instance: Instance,
  ) => Promise<readonly [on: CheckedHost, instance: Instance]>;
}

/** The volumes of a guest that makes a trip: one from its build, one that was attached. */
const TRAVELLERS = devicesOf(DATA, OTHER);

const TRIPS: readonly Trip[] = [
  {
    code: "reboot",
    when: "over a soft and a hard reboot",
    method: "reboot",
    go: async (_, on, instance) => {
      await on.host.reboot(instance, "SOFT");
      await on.host.reboot(instance, "HARD");
      return [on, instance];
    },
  },
  {
    code: "reboot-absent",
    when: "when a hard reboot recreates it",
    method: "reboot",
    go: async (_, on, instance) => {
      await on.host.destroy(instance, { ...TRAVELLERS, destroyDisks: false });
      await on.host.reboot(instance, "HARD", { blockDevices: TRAVELLERS.blockDevices });
      return [on, instance];
    },
  },
  {
    code: "stop",
    when: "over a stop and a start",
    method: "powerOn",
    go: async (_, on, instance) => {
      await on.host.powerOff(instance);
      await on.host.powerOn(instance);
      return [on, instance];
    },
  },
  {
    code: "rescue",
    when: "from rescue to unrescue",
    method: "unrescue",
    needs: ["rescue", "unrescue"],
    go: async (_, on, instance) => {
      await on.host.rescue(instance, { ...TRAVELLERS, image: frozen(imageOf()) });
      await on.host.unrescue(instance);
      return [on, instance];
    },
  },
  {
    code: "restart",
    when: "when the next driver takes the host",
    method: "cleanupHost",
    go: async (harness, on, instance) => {
      await on.host.cleanupHost();
      return [await harness.connect(), instance];
    },
  },
  {
    code: "cold-migration",
    when: "over a cold migration",
    method: "finishMigration",
    needs: MOVES,
    go: async (harness, source, instance) => {
      const destination = await harness.connect("check-host-2");
      const disks = await leave(source, instance, destination, instance.flavor, TRAVELLERS);
      const moved = await harness.moved(instance, destination);
      await arrive(harness, destination, moved, disks, { devices: TRAVELLERS });
      await source.host.confirmMigration(migration(instance, destination), moved, { network: [] });
      return [destination, moved];
    },
  },
  {
    code: "revert",
    when: "over a migration that is reverted",
    method: "finishRevertMigration",
    needs: REVERT,
    go: async (harness, source, instance) => {
      const destination = await harness.connect("check-host-2");
      const disks = await leave(source, instance, destination, instance.flavor, TRAVELLERS);
      const moved = await harness.moved(instance, destination);
      await arrive(harness, destination, moved, disks, { devices: TRAVELLERS });
      await destination.host.destroy(moved, { ...TRAVELLERS, destroyDisks: true });
      await back(source, instance, true, TRAVELLERS);
      return [source, await harness.moved(instance, source)];
    },
  },
  {
    code: "live-migration",
    when: "over a live migration",
    method: "liveMigration",
    needs: LIVE_NEEDS,
    go: async (harness, source, instance) => {
      const destination = await harness.connect("check-host-2");
      const hosts = [source, destination] as const;
      const data = await prepared(source, destination, instance, TRAVELLERS);
      await migrate(hosts, instance, data);
      await finished(hosts, instance, data);
      return [destination, await harness.moved(instance, destination)];
    },
  },
];

function tripCase({ code, when, method, needs = [], go }: Trip): ContractCase {
  return {
    code: `volume-${code}`,
    section: "8.16",
    rule: `a guest retains its volumes ${when}`,
    needs: [...NEEDS, ...needs],
    run: onGuestWith([DATA], async (on, instance, harness) => {
      await on.host.attachVolume(instance, OTHER);
      const [there, moved] = await go(harness, on, instance);
      await mustHave(there, moved, [DATA, OTHER], method, when);
    }),
  };
}

/** Section 8.16: volumes. */
export const VOLUME_CASES: readonly ContractCase[] = inSection("8.16", [
  {
    code: "volume-connector",
    rule: "getVolumeConnector names the host, and is the same for each driver of the host",
    needs: ["getVolumeConnector"],
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.instance(on);
      const connector = await on.host.getVolumeConnector(instance);
      must(connector.host === on.name, "getVolumeConnector", `return ${on.name} as host`, `found ${connector.host}`);
      const again = await (await harness.connect()).host.getVolumeConnector(instance);
      const [one, other] = [JSON.stringify(connector), JSON.stringify(again)];
      must(
        one === other,
        "getVolumeConnector",
        "return the same for each driver of the host",
        `${one} became ${other}`,
      );
    },
  },
  {
    code: "volume-spawn",
    rule: "spawn gives the guest its volumes, one of them as its root disk",
    needs: NEEDS,
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.instance(on, { imageRef: "" });
      await harness.spawn(on, instance, devicesOf(ROOT, DATA));
      await mustBe(on, instance, "running", "spawn", "that boots from a volume");
      await mustHave(on, instance, [ROOT, DATA], "spawn", "that was built with them");
    },
  },
  ...PLUG_STATES.map(plugCase),
  {
    code: "volume-attach-again",
    rule: "attachVolume of a volume that the guest has is success",
    needs: NEEDS,
    run: onGuestWith([DATA], async (on, instance) => {
      const rule = "succeed for a volume that the guest has";
      await succeeds(on.host.attachVolume(instance, DATA), "attachVolume", rule);
      await mustHave(on, instance, [DATA], "attachVolume", "that has it already");
    }),
  },
  {
    code: "volume-detach-again",
    rule: "detachVolume of a volume that the guest does not have is success",
    needs: NEEDS,
    run: onGuestWith([DATA], async (on, instance) => {
      const rule = "succeed for a volume that the guest does not have";
      await succeeds(on.host.detachVolume(instance, OTHER), "detachVolume", rule);
      await mustHave(on, instance, [DATA], "detachVolume", "that has another one");
    }),
  },
  {
    code: "volume-absent-guest",
    rule: "attachVolume, detachVolume and listVolumes of a missing guest throw InstanceNotFound",
    needs: NEEDS,
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.instance(on);
      const names = ["InstanceNotFound"];
      await failsWith(on.host.attachVolume(instance, DATA), names, "attachVolume", "for a missing guest");
      await failsWith(on.host.detachVolume(instance, DATA), names, "detachVolume", "for a missing guest");
      await failsWith(on.host.listVolumes(instance), names, "listVolumes", "for a missing guest");
    },
  },
  {
    code: "volume-destroy",
    rule: "a guest that is built again after destroy has only its new volumes",
    needs: NEEDS,
    run: onGuestWith([DATA], async (on, instance, harness) => {
      await on.host.destroy(instance, { ...devicesOf(DATA), destroyDisks: true });
      await harness.spawn(on, instance, devicesOf(OTHER));
      await mustHave(on, instance, [OTHER], "destroy", "that is built again");
      await on.host.destroy(instance, DESTROY);
    }),
  },
  {
    code: "volume-swap",
    rule: "swapVolume replaces one volume by another, and can be repeated",
    needs: [...NEEDS, "swapVolume"],
    run: onGuestWith([DATA], async (on, instance) => {
      const volumes = { old: DATA, new: { ...OTHER, deviceName: DATA.deviceName } };
      await succeeds(on.host.swapVolume(instance, volumes), "swapVolume", "work on a running guest");
      await mustHave(on, instance, [volumes.new], "swapVolume", "instead of the old one");
      await succeeds(on.host.swapVolume(instance, volumes), "swapVolume", "succeed when it is repeated");
      await mustHave(on, instance, [volumes.new], "swapVolume", "when it is repeated");
    }),
  },
  {
    code: "volume-extend",
    rule: "extendVolume works on a running guest, which retains its volumes",
    needs: [...NEEDS, "extendVolume"],
    run: onGuestWith([DATA, OTHER], async (on, instance) => {
      const rule = "work on a running guest";
      await succeeds(on.host.extendVolume(instance, { ...DATA, size: 2 }), "extendVolume", rule);
      await mustHave(on, instance, [DATA, OTHER], "extendVolume", "after one of them was extended");
    }),
  },
  ...TRIPS.map(tripCase),
]);
