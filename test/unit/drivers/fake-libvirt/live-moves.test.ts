import { describe, expect, test } from "vitest";
import { driver as definition } from "../../../../drivers/fake-libvirt/index.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { createDriverHost } from "../../../../src/virt/create-driver-host.js";
import {
  GuestNotFound,
  InstanceExists,
  type LiveMigrateData,
  type LiveMigrationProgress,
  MigrationPreCheckError,
} from "../../../../src/virt/index.js";
import { contextOf, NO_DEVICES } from "../../virt/fixtures.js";
import { DESTROY, type Harness, KEEP_DISKS, SPAWN } from "./fixtures.js";
import { lookAt, PROGRESS_OF, small } from "./two-hosts.js";

type Config = Readonly<Record<string, unknown>>;

/** Creates two hosts in virtual time, with a running guest on the first. */
async function twoHosts(config: { readonly shared?: boolean; readonly source?: Config; readonly dest?: Config } = {}) {
  const runtime = createVirtualRuntime();
  const folder = "/lab";
  const shared = config.shared ?? false;
  const connect = async (host: string, own: Config = {}) => {
    const driver = await createDriverHost(
      definition,
      contextOf(runtime, {
        host,
        config: {
          connectionUri: `fake-libvirt://${folder}/hypervisors/${host}`,
          ...(shared ? { instancesPath: `${folder}/nfs` } : {}),
          ...own,
        },
      }),
    );
    const events: string[] = [];
    driver.setLifecycleListener(({ transition }) => void events.push(transition));
    await runtime.runUntil(driver.initHost());
    return { driver, events };
  };
  const source = await connect("devstack1", config.source);
  const dest = await connect("devstack2", config.dest);
  await source.driver.spawn(small, SPAWN);
  const look = () => lookAt({ folder, files: runtime.files } as Harness, shared);
  return { runtime, source, dest, look, shared };
}
type TwoHosts = Awaited<ReturnType<typeof twoHosts>>;

async function check({ source, dest }: TwoHosts, blockMigration: boolean | null = null): Promise<LiveMigrateData> {
  const destinationData = await dest.driver.checkCanLiveMigrateDestination(small, {
    blockMigration,
    diskOverCommit: false,
  });
  try {
    return await source.driver.checkCanLiveMigrateSource(small, destinationData);
  } finally {
    await dest.driver.cleanupLiveMigrationDestinationCheck(destinationData);
  }
}

/** Migrates like the agent: checks, preparation, migration. `called` contains the outcome. */
async function migrate(hosts: TwoHosts, signal?: AbortSignal) {
  const data = await check(hosts);
  const ready = await hosts.dest.driver.preLiveMigration(small, { ...NO_DEVICES, data });
  const progress: LiveMigrationProgress[] = [];
  const called: string[] = [];
  const done = hosts.source.driver
    .liveMigration(small, "devstack2", {
      blockMigration: data.blockMigration,
      data: ready,
      onProgress: (news) => void progress.push(news),
      postMethod: async () => {
        called.push("post");
        const post = { ...NO_DEVICES, data: ready };
        await hosts.dest.driver.postLiveMigrationAtDestination(small, post);
        await hosts.source.driver.cleanup(small, { ...NO_DEVICES, destroyDisks: !ready.sharedInstanceFiles });
      },
      recoverMethod: async ({ status }) => {
        called.push(status);
        await hosts.dest.driver.rollbackLiveMigrationAtDestination(small, {
          ...NO_DEVICES,
          data: ready,
          destroyDisks: !ready.sharedInstanceFiles,
        });
      },
      ...(signal ? { signal } : {}),
    })
    .catch((error: unknown) => void called.push(String(error)));
  return { data, progress, called, done };
}

describe.each([false, true])("8.3 live migration, shared storage: %s", (shared) => {
  test("the guest runs at the destination, and the source has nothing of it", async () => {
    const hosts = await twoHosts({ shared });
    const { called, done, data } = await migrate(hosts);
    await hosts.runtime.runUntil(done);
    expect(data).toMatchObject({ blockMigration: !shared, sharedInstanceFiles: shared });
    expect(called).toEqual(["post"]);
    const { sourceFiles, ...rest } = await hosts.look();
    expect(rest).toMatchObject({ source: undefined, destination: "running" });
    expect(sourceFiles).toEqual(shared ? [`nfs/${small.uuid}`] : []);
    expect(await hosts.dest.driver.instanceOnDisk(small)).toBe(true);
    expect(hosts.source.events).toEqual(["migration_completed"]);
  });

  test("a paused guest arrives paused", async () => {
    const hosts = await twoHosts({ shared });
    await hosts.source.driver.pause(small);
    const { done } = await migrate(hosts);
    await hosts.runtime.runUntil(done);
    expect(await hosts.look()).toMatchObject({ source: undefined, destination: "paused" });
  });

  test("an abort during the copy is recover(cancelled), and restores the source", async () => {
    const hosts = await twoHosts({ shared, source: { delayLiveMigration: 60 } });
    const before = await hosts.look();
    const { called, done } = await migrate(hosts);
    await hosts.runtime.advance(30_000);
    await hosts.source.driver.liveMigrationAbort(small);
    await hosts.runtime.runUntil(done);
    expect(called).toEqual(["cancelled"]);
    expect(await hosts.look()).toEqual(before);
    expect(hosts.source.events).toEqual([]);
  });
});

describe("6.5 the progress of a live migration", () => {
  test("progress is reported twice a second, in bytes", async () => {
    const hosts = await twoHosts({ source: { delayLiveMigration: 10 } });
    const { progress, done, called } = await migrate(hosts);
    await hosts.runtime.advance(5_000);
    expect(progress).toHaveLength(11);
    expect(progress[0]).toMatchObject(PROGRESS_OF(2048, 0));
    expect(progress.at(-1)).toMatchObject({
      ...PROGRESS_OF(2048, 0.5),
      diskTotal: 11 * 1024 ** 3,
      diskProcessed: 5.5 * 1024 ** 3,
    });
    expect(await hosts.look()).toMatchObject({ source: "running", destination: undefined });
    expect(called).toEqual([]);
    await hosts.runtime.runUntil(done);
    expect(progress.at(-1)).toMatchObject(PROGRESS_OF(2048, 1));
    expect(called).toEqual(["post"]);
  });

  test("force-complete with post-copy resumes the guest at the destination at once, and copies the rest, with an event", async () => {
    const hosts = await twoHosts({ source: { delayLiveMigration: 100 } });
    const { called, done, progress } = await migrate(hosts);
    await hosts.runtime.advance(20_000);
    await hosts.source.driver.liveMigrationForceComplete(small);
    await hosts.runtime.advance(1_000);
    expect(await hosts.look()).toMatchObject({ source: "paused", destination: "running" });
    expect(hosts.source.events).toEqual(["postcopy_started"]);
    await expect(hosts.source.driver.liveMigrationAbort(small)).rejects.toThrow(/can no longer be aborted/);
    expect(called).toEqual([]);
    await hosts.runtime.advance(8_000);
    await done;
    expect(called).toEqual(["post"]);
    expect(progress.at(-1)).toMatchObject(PROGRESS_OF(2048, 1));
    expect(await hosts.look()).toMatchObject({ source: undefined, destination: "running" });
  });

  test("force-complete without post-copy pauses the guest until the rest is copied, and can be aborted", async () => {
    const hosts = await twoHosts({ source: { delayLiveMigration: 100, liveMigrationPermitPostCopy: false } });
    const { called, done } = await migrate(hosts);
    await hosts.runtime.advance(20_000);
    await hosts.source.driver.liveMigrationForceComplete(small);
    await hosts.runtime.advance(1_000);
    expect(await hosts.look()).toMatchObject({ source: "paused", destination: undefined });
    await hosts.source.driver.liveMigrationAbort(small);
    await hosts.runtime.runUntil(done);
    expect(called).toEqual(["cancelled"]);
    expect(await hosts.look()).toMatchObject({ source: "running", destination: undefined });
  });

  test("force-complete without a migration fails", async () => {
    const { source } = await twoHosts();
    await expect(source.driver.liveMigrationForceComplete(small)).rejects.toThrow(
      /no live migration of guest .* is running/,
    );
  });

  test("abort without a migration is success", async () => {
    const { source, look } = await twoHosts();
    await source.driver.liveMigrationAbort(small);
    expect(await look()).toMatchObject({ source: "running" });
  });

  test.each([
    ["stopped", (hosts: TwoHosts) => hosts.source.driver.powerOff(small), "shutoff"],
    ["destroyed", (hosts: TwoHosts) => hosts.source.driver.destroy(small, DESTROY), undefined],
  ])("a guest that is %s meanwhile: recover(failed), and it stays in that state", async (_, act, state) => {
    const hosts = await twoHosts({ source: { delayLiveMigration: 10 } });
    const { called, done } = await migrate(hosts);
    await hosts.runtime.advance(3_000);
    await act(hosts);
    await hosts.runtime.runUntil(done);
    expect(called).toEqual(["failed"]);
    expect(await hosts.look()).toMatchObject({ source: state, destination: undefined, destinationFiles: [] });
  });

  test("an aborted call is recover(failed), and the guest keeps running at the source", async () => {
    const hosts = await twoHosts({ source: { delayLiveMigration: 10 } });
    const controller = new AbortController();
    const { called, done } = await migrate(hosts, controller.signal);
    await hosts.runtime.advance(3_000);
    controller.abort(new Error("shutting down"));
    await hosts.runtime.runUntil(done);
    expect(called).toEqual(["failed"]);
    expect(await hosts.look()).toMatchObject({ source: "running", destination: undefined, destinationFiles: [] });
  });

  test("a destination of another driver: recover(failed)", async () => {
    const { source, look } = await twoHosts();
    const called: string[] = [];
    await source.driver.liveMigration(small, "devstack2", {
      blockMigration: true,
      data: { blockMigration: true, sharedInstanceFiles: false },
      onProgress: () => {},
      postMethod: async () => void called.push("post"),
      recoverMethod: async ({ status }) => void called.push(status),
    });
    expect(called).toEqual(["failed"]);
    expect(await look()).toMatchObject({ source: "running" });
  });

  test("live migration of a guest that is shut off is recover(failed), of a missing one InstanceNotFound", async () => {
    const hosts = await twoHosts();
    const data = await check(hosts);
    await hosts.source.driver.powerOff(small);
    const called: string[] = [];
    const options = {
      blockMigration: true,
      data: { ...data, destination: {} },
      onProgress: () => {},
      postMethod: async () => void called.push("post"),
      recoverMethod: async ({ status }: { readonly status: string }) => void called.push(status),
    };
    await hosts.source.driver.liveMigration(small, "devstack2", options);
    expect(called).toEqual(["failed"]);
    await expect(hosts.dest.driver.liveMigration(small, "devstack1", options)).rejects.toThrow(GuestNotFound);
  });
});

describe("8.3 checks and their temporary files", () => {
  const getPreCheckError = async (hosts: TwoHosts, block: boolean | null = null) => {
    const error = await check(hosts, block).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MigrationPreCheckError);
    return String(error);
  };

  test("shared storage decides about block migration, unless the API request does", async () => {
    expect(await check(await twoHosts())).toMatchObject({ blockMigration: true, sharedInstanceFiles: false });
    expect(await check(await twoHosts({ shared: true }))).toMatchObject({ blockMigration: false });
    expect(await getPreCheckError(await twoHosts({ shared: true }), true)).toContain(
      "cannot be used with shared storage",
    );
    expect(await getPreCheckError(await twoHosts(), false)).toContain("not on storage that both hosts share");
  });

  test("reject a CPU without the features of the guest's", async () => {
    expect(await getPreCheckError(await twoHosts({ dest: { cpuModel: "Nehalem" } }))).toMatch(
      /its CPU is Cascadelake-Server, but Nehalem of the destination lacks aes, /,
    );
    await expect(check(await twoHosts({ source: { cpuModel: "Nehalem" } }))).resolves.toBeDefined();
  });

  test("reject disks that do not fit, only if they are copied without over-commit", async () => {
    expect(await getPreCheckError(await twoHosts({ dest: { diskGb: 10 } }))).toContain(
      "need 11 GiB, but only 10 GiB are free",
    );
    await expect(check(await twoHosts({ shared: true, dest: { diskGb: 10 } }))).resolves.toBeDefined();
    const { source, dest } = await twoHosts({ dest: { diskGb: 10 } });
    const destinationData = await dest.driver.checkCanLiveMigrateDestination(small, {
      blockMigration: true,
      diskOverCommit: true,
    });
    await expect(source.driver.checkCanLiveMigrateSource(small, destinationData)).resolves.toBeDefined();
  });

  test("reject a guest that exists at the destination, or is missing or without XML at the source", async () => {
    const hosts = await twoHosts();
    await hosts.dest.driver.spawn(small, SPAWN);
    expect(await getPreCheckError(hosts)).toContain("hypervisors/devstack2 already");
    const other = await twoHosts();
    await other.runtime.files.write(`/lab/hypervisors/devstack1/domains/${small.uuid}.xml`, "");
    expect(await getPreCheckError(other)).toContain("its XML cannot be read");
    await other.source.driver.destroy(small, DESTROY);
    await expect(check(other)).rejects.toThrow(GuestNotFound);
  });

  test("reject a destination whose folder is on another machine or of another driver", async () => {
    const { source, dest } = await twoHosts();
    const destinationData = await dest.driver.checkCanLiveMigrateDestination(small, {
      blockMigration: null,
      diskOverCommit: false,
    });
    const uri = "fake-libvirt:///elsewhere";
    const elsewhere = { ...destinationData, destination: { ...(destinationData.destination as object), uri } };
    await expect(source.driver.checkCanLiveMigrateSource(small, elsewhere)).rejects.toThrow(
      /\/elsewhere is not the destination's hypervisor on this host: both hosts must share their folders/,
    );
    await expect(
      source.driver.checkCanLiveMigrateSource(small, { ...destinationData, destination: null }),
    ).rejects.toThrow(/contains no hypervisor/);
  });

  test("remove their test file", async () => {
    const hosts = await twoHosts();
    await check(hosts);
    expect((await hosts.look()).destinationFiles).toEqual([]);
    await hosts.dest.driver.cleanupLiveMigrationDestinationCheck({
      blockMigration: true,
      sharedInstanceFiles: false,
      sharedStorageFile: "../hypervisor.json",
    });
    expect(await hosts.runtime.files.stat("/lab/hypervisors/devstack2/hypervisor.json")).toBeDefined();
  });

  test("preparing a destination fails if the guest exists there or a shared disk does not", async () => {
    const hosts = await twoHosts();
    const data = await check(hosts);
    const lie = { ...data, sharedInstanceFiles: true };
    await expect(hosts.dest.driver.preLiveMigration(small, { ...NO_DEVICES, data: lie })).rejects.toThrow(
      /though both hosts share it/,
    );
    await hosts.dest.driver.spawn(small, SPAWN);
    await expect(hosts.dest.driver.preLiveMigration(small, { ...NO_DEVICES, data })).rejects.toThrow(InstanceExists);
  });

  test("8.2 cleanup of a running guest fails; cleanup of a missing one is success", async () => {
    const { source, look } = await twoHosts();
    await expect(source.driver.cleanup(small, DESTROY)).rejects.toThrow(
      /is running on this host and is not cleaned up/,
    );
    expect(await look()).toMatchObject({ source: "running" });
    await source.driver.powerOff(small);
    await source.driver.cleanup(small, KEEP_DISKS);
    expect(await source.driver.instanceOnDisk(small)).toBe(true);
    await source.driver.cleanup(small, DESTROY);
    await source.driver.cleanup(small, DESTROY);
    expect((await look()).sourceFiles).toEqual([]);
  });

  test("a guest with host devices cannot be migrated", async () => {
    const hosts = await twoHosts();
    const path = `/lab/hypervisors/devstack1/domains/${small.uuid}.xml`;
    const device = '<fake:devices><fake:device address="0000:81:00.0" class="VGPU" part="0"/></fake:devices>';
    const xml = await hosts.runtime.files.read(path);
    await hosts.runtime.files.write(path, xml.replace("</metadata>", `${device}</metadata>`));
    expect(await getPreCheckError(hosts)).toContain("it has devices of this host");
  });
});

test("8.3 postLiveMigrationAtDestination of a guest that did not arrive: InstanceNotFound", async () => {
  const { dest } = await twoHosts();
  const data = { blockMigration: true, sharedInstanceFiles: false };
  await expect(dest.driver.postLiveMigrationAtDestination(small, { ...NO_DEVICES, data })).rejects.toThrow(
    GuestNotFound,
  );
});

test("drivers with delay options take that time", async () => {
  const hosts = await twoHosts({ dest: { delayPreLiveMigration: 5 } });
  const data = await check(hosts);
  const started = hosts.runtime.clock.monotonic();
  await hosts.runtime.runUntil(hosts.dest.driver.preLiveMigration(small, { ...NO_DEVICES, data }));
  expect(hosts.runtime.clock.monotonic() - started).toBe(5_000);
});
