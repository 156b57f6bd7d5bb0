import { type ContractCase, failsWith, inSection, must, mustBe, onGuest, succeeds, textOf } from "../contract-case.js";
import { frozen } from "../harness-fixtures.js";

const SNAPSHOT = "77777777-7777-4777-8777-777777777777";

const IMAGE = "88888888-8888-4888-8888-888888888888";

/** Long enough for several chunks. */
const BYTES = "an image\n".repeat(1000);

const ignoredStages = { updateTaskState: async () => {} };

/** Section 8.13: the content of images. */
export const IMAGE_CASES: readonly ContractCase[] = inSection("8.13", [
  {
    code: "snapshot-uploads",
    rule: "snapshot sends the image to the Image service, after image_uploading",
    needs: ["snapshot"],
    run: onGuest(async (on, instance, harness) => {
      const early: string[] = [];
      const updateTaskState = async (stage: string) => {
        if (harness.images.uploaded > 0) {
          early.push(stage);
        }
      };
      await on.host.snapshot(instance, SNAPSHOT, { updateTaskState });
      const rule = "call upload, and wait until it has stored the image";
      must(
        (await harness.images.size(SNAPSHOT)) !== undefined,
        "snapshot",
        rule,
        "the Image service has received nothing",
      );
      must(early.length === 0, "snapshot", "call upload after image_uploading", `${early.join()} came after it`);
    }),
  },
  {
    code: "snapshot-broken-off",
    rule: "snapshot fails with the Image service's error when the upload breaks off, and leaves the guest as it was",
    needs: ["snapshot"],
    run: onGuest(async (on, instance, harness) => {
      harness.images.breaks = true;
      const broken = on.host.snapshot(instance, SNAPSHOT, ignoredStages);
      await failsWith(broken, ["GlanceConnectionFailed"], "snapshot", "when the Image service breaks off");
      await mustBe(on, instance, "running", "snapshot", "that ran before");
      harness.images.breaks = false;
      await succeeds(on.host.snapshot(instance, SNAPSHOT, ignoredStages), "snapshot", "succeed when it is repeated");
    }),
  },
  {
    code: "spawn-broken-off",
    rule: "spawn fails when the download of its image breaks off, and leaves nothing",
    run: async (harness) => {
      await harness.images.put(IMAGE, BYTES);
      const on = await harness.connect();
      const instance = await harness.instance(on);
      harness.images.breaks = true;
      const image = frozen({ ...harness.image, id: IMAGE, diskFormat: "raw" });
      const broken = harness.spawn(on, instance, { image }).then(
        () => null,
        (error: unknown) => error,
      );
      const error = await broken;
      if (harness.images.downloaded === 0) {
        return;
      }
      must(error !== null, "spawn", "fail when the download of its image breaks off", "it succeeded");
      await mustBe(on, instance, "absent", "spawn", "whose image broke off");
      await on.host.failedSpawnCleanup(instance);
      harness.images.breaks = false;
      const next = await harness.instance(on);
      await succeeds(harness.spawn(on, next), "spawn", "succeed with another server");
    },
  },
]);

const SNAPSHOT_IMAGE = "55555555-5555-4555-8555-555555555555";

/** Section 8.2: snapshots of guests' disks. */
export const SNAPSHOT_CASES: readonly ContractCase[] = inSection("8.2", [
  {
    code: "snapshot-stages",
    rule: "snapshot goes through image_pending_upload, then image_uploading, and leaves the guest as it was",
    needs: ["snapshot"],
    run: onGuest(async (on, instance) => {
      const stages: string[] = [];
      const updateTaskState = async (stage: string) => void stages.push(stage);
      await on.host.snapshot(instance, SNAPSHOT_IMAGE, { updateTaskState });
      const rule = "call updateTaskState with image_pending_upload, then image_uploading";
      must(
        stages.join() === "image_pending_upload,image_uploading",
        "snapshot",
        rule,
        `found ${stages.join() || "no call"}`,
      );
      await mustBe(on, instance, "running", "snapshot", "that ran before");
    }),
  },
  {
    code: "snapshot-stops",
    rule: "snapshot ends with the error of updateTaskState when another request has changed the task state",
    needs: ["snapshot"],
    run: onGuest(async (on, instance) => {
      const rejection = new Error("UnexpectedDeletingTaskState");
      const updateTaskState = () => Promise.reject(rejection);
      const outcome = await on.host.snapshot(instance, SNAPSHOT_IMAGE, { updateTaskState }).then(
        () => "it succeeded",
        (error: unknown) => (error === rejection ? null : `it threw ${textOf(error)}`),
      );
      must(outcome === null, "snapshot", "let the error of updateTaskState propagate", outcome ?? "");
    }),
  },
  {
    code: "snapshot-absent",
    rule: "snapshot of a missing guest throws InstanceNotRunning",
    needs: ["snapshot"],
    run: async (harness) => {
      const on = await harness.connect();
      const work = on.host.snapshot(await harness.instance(on), SNAPSHOT_IMAGE, {
        updateTaskState: async () => {},
      });
      await failsWith(work, ["InstanceNotRunning"], "snapshot", "for a missing guest");
    },
  },
]);
