import { describe, expect, test } from "vitest";
import { ClientException } from "../../../../../src/volume-client/errors.js";
import { FlowStage, type StageOptions } from "../../support/flow-stage.js";
import { migrateLive, recovers, stagedLive } from "../../support/staged-live.js";
import { FROM_HERE, stagedResize, TO_HERE } from "../../support/staged-move.js";
import { stageVolumes } from "../../support/staged-volumes.js";

const SENT = { blockMigration: false, sharedInstanceFiles: true };

/** The attachments of another host are replaced by reserved ones. */
const REPLACED = ["POST vol-a", "save vol-a-1", "DELETE vol-a-0", "POST vol-b", "save vol-b-2", "DELETE vol-b-0"];
const CONNECTED = ["PUT vol-a-0 /dev/vda", "save vol-a-0", "PUT vol-b-0 /dev/vdb", "save vol-b-0"];
const COMPLETED = ["complete vol-a-0", "complete vol-b-0"];

describe("6.12 attachments follow a guest as recorded from Nova", () => {
  test("the source of a cold migration replaces them when it has stopped the guest", async () => {
    const stage = stagedResize(
      { status: "pre-migrating", destHost: "10.0.0.2", ...FROM_HERE },
      { taskState: "resize_prep", oldFlavor: null },
    );
    const { log } = stageVolumes(stage);
    expect(await stage.failure("resize_instance", {})).toBeNull();
    expect(log()).toEqual(["driver.migrateDiskAndPowerOff", ...REPLACED]);
  });

  test("its destination connects before it makes the guest, and completes afterwards", async () => {
    const stage = stagedResize(
      { status: "post-migrating", ...TO_HERE },
      { host: "here", node: "node", taskState: "resize_migrated" },
    );
    const { log } = stageVolumes(stage);
    expect(await stage.failure("finish_resize", { diskInfo: "disk-info" })).toBeNull();
    expect(log()).toEqual([...CONNECTED, "driver.finishMigration", ...COMPLETED]);
  });

  test("a destination that fails to make the guest leaves them connected", async () => {
    const stage = stagedResize(
      { status: "post-migrating", ...TO_HERE },
      { host: "here", node: "node", taskState: "resize_migrated" },
    );
    const { log } = stageVolumes(stage);
    stage.replies["driver.finishMigration"] = new Error("broken");
    expect(await stage.failure("finish_resize", { diskInfo: "disk-info" })).not.toBeNull();
    expect(log()).toEqual([...CONNECTED, "driver.finishMigration"]);
  });

  test("a reverting destination replaces them when the guest is gone", async () => {
    const stage = stagedResize(
      { status: "reverting", ...TO_HERE },
      { vmState: "resized", taskState: "resize_reverting" },
    );
    stage.replies["call check_instance_shared_storage"] = false;
    const { log } = stageVolumes(stage);
    expect(await stage.failure("revert_resize", {})).toBeNull();
    expect(log()).toEqual(["driver.destroy", ...REPLACED]);
  });

  test("the source of a reverted move connects, brings the guest back, and completes", async () => {
    const stage = stagedResize(
      { status: "reverted", ...FROM_HERE },
      { host: "there", vmState: "resized", taskState: "resize_reverting" },
    );
    const { log } = stageVolumes(stage);
    expect(await stage.failure("finish_revert_resize", {})).toBeNull();
    expect(log()).toEqual([...CONNECTED, "driver.finishRevertMigration", ...COMPLETED]);
  });

  test("an evacuation replaces the attachments of the dead source, and completes before it makes the guest", async () => {
    const stage = evacuated();
    const { log } = stageVolumes(stage);
    expect(await evacuate(stage)).toBeNull();
    expect(log()).toEqual([
      ...REPLACED,
      "PUT vol-a-1 /dev/vda",
      "save vol-a-1",
      "complete vol-a-1",
      "PUT vol-b-2 /dev/vdb",
      "save vol-b-2",
      "complete vol-b-2",
      "driver.spawn",
    ]);
  });

  test("an evacuation of a guest that was on two hosts removes all other attachments", async () => {
    const stage = evacuated({ instance: { systemMetadata: { set_aside_by: "7" } } });
    const { log, attachments } = stageVolumes(stage);
    attachments.set("vol-a-9", "attached");
    await evacuate(stage);
    expect(log()).toContain("DELETE vol-a-9");
    expect([...attachments.keys()]).toEqual(["vol-a-1", "vol-b-2"]);
  });

  test("an offload reserves the volumes without a host", async () => {
    const stage = new FlowStage({ instance: { vmState: "shelved", taskState: "shelving_offloading" } });
    const { log } = stageVolumes(stage);
    expect(await stage.failure("shelve_offload_instance", {})).toBeNull();
    expect(log()).toEqual(["driver.destroy", ...REPLACED]);
  });

  test("a rebuild replaces and connects them on the same host", async () => {
    const stage = new FlowStage({ instance: { taskState: "rebuilding" }, lacks: ["rebuild"] });
    const { log } = stageVolumes(stage);
    const request = { onSharedStorage: null, recreate: false, node: "node", imageRef: "image", targetStopped: false };
    expect(await stage.failure("rebuild_instance", { ...request, migrationId: null } as never)).toBeNull();
    expect(log().slice(0, 8)).toEqual(["driver.destroy", ...REPLACED, "PUT vol-a-1 /dev/vda"]);
    expect(log().at(-1)).toBe("driver.spawn");
  });

  test("a hard reboot passes the disks, and asks Block Storage for nothing", async () => {
    const stage = new FlowStage({ instance: { taskState: "rebooting_hard" } });
    const { log } = stageVolumes(stage);
    expect(await stage.failure("reboot_instance", { type: "HARD" })).toBeNull();
    expect(log()).toEqual(["driver.reboot"]);
    expect(stage.argumentsOf("driver.reboot")[0]?.[2]).toMatchObject({
      blockDevices: { volumes: [{ volumeId: "vol-a" }, { volumeId: "vol-b" }] },
    });
  });
});

function evacuated(options: StageOptions = {}) {
  return new FlowStage({
    capabilities: { supportsEvacuate: true },
    ...options,
    instance: { host: "there", node: "far", taskState: "rebuilding", ...options.instance },
    migration: { migrationType: "evacuation", status: "accepted", ...TO_HERE, destNode: null },
  });
}

function evacuate(stage: FlowStage) {
  const request = { onSharedStorage: null, recreate: true, node: "node", imageRef: "image", targetStopped: false };
  return stage.failure("rebuild_instance", request);
}

describe("6.12 a live migration attaches volumes to both hosts", () => {
  function coming() {
    const stage = new FlowStage({
      instance: { host: "there", node: "far", taskState: "migrating" },
      migration: { migrationType: "live-migration", status: "preparing", ...TO_HERE },
    });
    stage.replies["driver.preLiveMigration"] = SENT;
    return stage;
  }
  const SECOND = ["POST vol-a connector", "save vol-a-1", "POST vol-b connector", "save vol-b-2"];

  test("the destination gets a second attachment of each volume, which it completes", async () => {
    const stage = coming();
    const { log, attachments } = stageVolumes(stage);
    await stage.run("pre_live_migration", { blockMigration: null, data: SENT });
    expect(log()).toEqual([...SECOND, "driver.preLiveMigration", "complete vol-a-1", "complete vol-b-2"]);
    expect([...attachments.keys()]).toEqual(["vol-a-0", "vol-b-0", "vol-a-1", "vol-b-2"]);
  });

  test("a destination that cannot prepare removes its attachments, and the records name the source's", async () => {
    const stage = coming();
    const { log, devices, attachments } = stageVolumes(stage);
    stage.replies["driver.preLiveMigration"] = new Error("broken");
    await stage.failure("pre_live_migration", { blockMigration: null, data: SENT });
    expect(log().slice(5)).toEqual(["save vol-a-0", "DELETE vol-a-1", "save vol-b-0", "DELETE vol-b-2"]);
    expect(devices().map(({ attachmentId }) => attachmentId)).toEqual(["vol-a-0", "vol-b-0"]);
    expect([...attachments.keys()]).toEqual(["vol-a-0", "vol-b-0"]);
  });

  /** A migration during which the destination has attached the volumes. */
  function leaving() {
    const stage = stagedLive();
    const staged = stageVolumes(stage);
    stage.replies["call pre_live_migration"] = () => {
      for (const { uuid, volumeId } of staged.devices()) {
        staged.attachments.set(`${volumeId}-9`, "attached");
        (stage.replies.block_device_save as (params: object) => void)({
          uuid,
          changes: { attachmentId: `${volumeId}-9` },
        });
      }
      return SENT;
    };
    return { stage, ...staged };
  }

  test("the source removes its own when the guest has moved", async () => {
    const { stage, log, attachments } = leaving();
    await migrateLive(stage);
    expect(log()).toEqual(["driver.liveMigration", "DELETE vol-a-0", "DELETE vol-b-0"]);
    expect([...attachments.keys()]).toEqual(["vol-a-9", "vol-b-9"]);
  });

  test("a source that cannot remove them tries again", async () => {
    const { stage, log } = leaving();
    let failures = 0;
    const remove = stage.replies["volumes.deleteAttachment"] as (id: string) => void;
    stage.replies["volumes.deleteAttachment"] = (id: string) => {
      failures += 1;
      return failures === 1 ? new ClientException(500, "broken") : remove(id);
    };
    await migrateLive(stage);
    expect(log().slice(1)).toEqual(["DELETE vol-a-0", "DELETE vol-a-0", "DELETE vol-b-0"]);
  });

  test("after a rollback the records name the source's, and the destination's are removed", async () => {
    const { stage, log, attachments } = leaving();
    await migrateLive(stage, recovers("failed"));
    expect(log().slice(1)).toEqual(["save vol-a-0", "DELETE vol-a-9", "save vol-b-0", "DELETE vol-b-9"]);
    expect([...attachments.keys()]).toEqual(["vol-a-0", "vol-b-0"]);
  });

  test("a process that finds an interrupted migration asks Block Storage which attachments are this host's", async () => {
    const { stage, attachments } = leaving();
    (stage.replies["call pre_live_migration"] as () => void)();
    Object.assign(stage.migration ?? {}, { status: "running" });
    await stage.operations.recoverLiveMigrations();
    expect([...attachments.keys()]).toEqual(["vol-a-0", "vol-b-0"]);
  });
});
