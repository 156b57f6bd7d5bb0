import { describe, expect, test } from "vitest";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import type { LiveMigrateData } from "../../../../src/virt/index.js";
import {
  createVirtualHarness,
  DESTROY,
  type Harness,
  KEEP_DISKS,
  SPAWN,
} from "../../../unit/drivers/fake-libvirt/fixtures.js";
import { connect, large, lookAt, REVERT, small } from "../../../unit/drivers/fake-libvirt/two-hosts.js";
import { imageOf, migrationOf, NO_DEVICES } from "../../../unit/virt/fixtures.js";
import { Saboteur } from "./saboteur.js";

const TO = { ...NO_DEVICES, destIp: "127.0.0.2", flavor: large.flavor };
const FINISH = { ...NO_DEVICES, image: imageOf(), resizeInstance: true, powerOn: true };
const MIGRATION = migrationOf();

interface Hosts {
  readonly source: DriverHost;
  readonly destination: DriverHost;
}
type Act = (hosts: Hosts) => Promise<unknown>;
type State = Awaited<ReturnType<typeof lookAt>>;

const migrate = ({ source }: Hosts) => source.migrateDiskAndPowerOff(small, TO);
async function finish(hosts: Hosts) {
  return hosts.destination.finishMigration(MIGRATION, large, await migrate(hosts), FINISH);
}
const revert = ({ source }: Hosts) => source.finishRevertMigration(small, REVERT);
const confirm = ({ source }: Hosts) => source.confirmMigration(MIGRATION, large, { network: [] });

async function check({ source, destination }: Hosts): Promise<LiveMigrateData> {
  const destinationData = await destination.checkCanLiveMigrateDestination(small, {
    blockMigration: null,
    diskOverCommit: false,
  });
  const data = await source.checkCanLiveMigrateSource(small, destinationData);
  await destination.cleanupLiveMigrationDestinationCheck(destinationData);
  return data;
}
async function prepare(hosts: Hosts) {
  return hosts.destination.preLiveMigration(small, { ...NO_DEVICES, data: await check(hosts) });
}

/** How it ended: `post` or the status of the recovery. */
async function live({ source }: Hosts, data: LiveMigrateData): Promise<string[]> {
  const called: string[] = [];
  await source.liveMigration(small, "devstack2", {
    blockMigration: data.blockMigration,
    data,
    onProgress: () => {},
    postMethod: async () => void called.push("post"),
    recoverMethod: async ({ status }) => void called.push(status),
  });
  return called;
}

/** In virtual files alone: that both kinds are alike is shown elsewhere. */
describe("V25 moves killed anywhere", () => {
  /** Kills the one who acts at each of its file operations in turn, and hands what is left to `expectSafe`. */
  const everywhere = async (
    shared: boolean,
    victim: keyof Hosts,
    before: Act,
    act: Act,
    expectSafe: (after: Hosts, look: () => Promise<State>, atRest: State) => Promise<void>,
  ) => {
    let killed = 0;
    for (let step = 1; ; step += 1) {
      const harness: Harness = await createVirtualHarness();
      try {
        const saboteur = new Saboteur(step, true);
        const files = { files: saboteur.over(harness.files) };
        const hosts = {
          source: await connect(harness, "devstack1", { shared }, victim === "source" ? files : {}),
          destination: await connect(harness, "devstack2", { shared }, victim === "destination" ? files : {}),
        };
        await hosts.source.spawn(small, SPAWN);
        const atRest = await lookAt(harness, shared);
        await before(hosts);
        saboteur.armed = true;
        await act(hosts).catch(() => {
          killed += 1;
        });
        const reached = saboteur.calls >= step;
        saboteur.armed = false;
        const look = () => lookAt(harness, shared);
        expect((await look()).running).toBeLessThanOrEqual(1);
        const again = {
          source: await connect(harness, "devstack1", { shared }),
          destination: await connect(harness, "devstack2", { shared }),
        };
        await expectSafe(again, look, atRest);
        if (!reached) {
          break;
        }
      } finally {
        await harness.close();
      }
    }
    expect(killed).toBeGreaterThan(1);
  };
  const nothing: Act = async () => {};

  describe.each([false, true])("shared storage: %s", (shared) => {
    test("S 1 is undone by finishRevertMigration from any half-done step", () =>
      everywhere(shared, "source", nothing, migrate, async (hosts, look, atRest) => {
        await revert(hosts);
        expect(await look()).toEqual(atRest);
      }));

    test("S 1 can be repeated", () =>
      everywhere(shared, "source", nothing, migrate, async (hosts, look) => {
        await finish(hosts);
        expect(await look()).toMatchObject({ source: "shutoff", destination: "running" });
      }));

    test("D 2 can be repeated", () =>
      everywhere(shared, "destination", nothing, finish, async (hosts, look) => {
        await finish(hosts);
        expect(await look()).toMatchObject({ source: "shutoff", destination: "running" });
        expect(await hosts.destination.getAvailableResource("devstack2")).toMatchObject({ vcpusUsed: 4 });
      }));

    test("D 2 can be taken back: D is destroyed, S reverted", () =>
      everywhere(shared, "destination", nothing, finish, async (hosts, look, atRest) => {
        await hosts.destination.destroy(large, shared ? KEEP_DISKS : DESTROY);
        await revert(hosts);
        expect(await look()).toEqual(atRest);
      }));

    test("S 3a can be repeated, and D's guest runs on", () =>
      everywhere(shared, "source", finish, confirm, async (hosts, look) => {
        await confirm(hosts);
        const { sourceFiles, ...rest } = await look();
        expect(rest).toMatchObject({ source: undefined, destination: "running" });
        expect(sourceFiles.filter((name) => name.endsWith("_resize") || name.startsWith("domains"))).toEqual([]);
        expect(await hosts.destination.instanceOnDisk(large)).toBe(true);
      }));

    test("S 4b can be repeated", () =>
      everywhere(
        shared,
        "source",
        async (hosts) => {
          await finish(hosts);
          await hosts.destination.destroy(large, shared ? KEEP_DISKS : DESTROY);
        },
        revert,
        async (hosts, look, atRest) => {
          await revert(hosts);
          expect(await look()).toEqual(atRest);
        },
      ));

    test("live: D killed while it prepares leaves nothing after a rollback", () =>
      everywhere(shared, "destination", nothing, prepare, async (hosts, look, atRest) => {
        const data = { blockMigration: !shared, sharedInstanceFiles: shared };
        await hosts.destination.rollbackLiveMigrationAtDestination(small, {
          ...NO_DEVICES,
          data,
          destroyDisks: !shared,
        });
        const { destinationFiles, ...rest } = await look();
        const litter = destinationFiles.filter((name) => name.includes(".shared-storage-"));
        expect({ ...rest, destinationFiles: destinationFiles.filter((name) => !litter.includes(name)) }).toMatchObject({
          source: "running",
          destination: undefined,
          destinationFiles: atRest.destinationFiles,
        });
      }));

    test("live: S killed in the migration: the guest runs on one host at most, and start-up takes it back", async () => {
      let data: LiveMigrateData = { blockMigration: false, sharedInstanceFiles: false };
      let called: string[] = [];
      await everywhere(
        shared,
        "source",
        async (hosts) => {
          called = [];
          data = await prepare(hosts);
        },
        async (hosts) => {
          called = await live(hosts, data);
        },
        async (hosts, look, atRest) => {
          await hosts.source.liveMigrationAbort(small);
          await hosts.source.liveMigrationAbort(small);
          if (called.includes("post")) {
            expect(await look()).toMatchObject({ source: undefined, destination: "running" });
            await hosts.source.cleanup(small, { ...NO_DEVICES, destroyDisks: !shared });
            expect(await hosts.destination.instanceOnDisk(small)).toBe(true);
            return;
          }
          // A kill before anything was written down is like none: the rollback at the destination is the agents'.
          await hosts.destination.rollbackLiveMigrationAtDestination(small, {
            ...NO_DEVICES,
            data,
            destroyDisks: !shared,
          });
          expect(await look()).toEqual(atRest);
        },
      );
    });

    test("live: S killed while it cleans up can do so again", () =>
      everywhere(
        shared,
        "source",
        async (hosts) => {
          await live(hosts, await prepare(hosts));
        },
        ({ source }) => source.cleanup(small, { ...NO_DEVICES, destroyDisks: !shared }),
        async ({ source, destination }, look) => {
          await source.cleanup(small, { ...NO_DEVICES, destroyDisks: !shared });
          const { sourceFiles, ...rest } = await look();
          expect(rest).toMatchObject({ source: undefined, destination: "running" });
          expect(sourceFiles.filter((name) => !name.startsWith("nfs/"))).toEqual([]);
          expect(await destination.instanceOnDisk(small)).toBe(true);
        },
      ));
  });

  test("a rescue or unrescue killed anywhere is undone by an unrescue", async () => {
    const rescue = ({ source }: Hosts) => source.rescue(small, { ...NO_DEVICES, image: imageOf() });
    const unrescue = ({ source }: Hosts) => source.unrescue(small);
    const safe = async (hosts: Hosts, look: () => Promise<State>, atRest: State) => {
      await unrescue(hosts);
      expect(await look()).toEqual(atRest);
    };
    await everywhere(false, "source", nothing, rescue, safe);
    await everywhere(false, "source", rescue, unrescue, safe);
  });
});
