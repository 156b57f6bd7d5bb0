import { type ContractCase, failsWith, must, textOf } from "../contract-case.js";
import { mustBe } from "./guest-state.js";

const IMAGE = "55555555-5555-4555-8555-555555555555";

/** Section 8.2: copies of guests' disks. */
export const SNAPSHOT_CASES: readonly ContractCase[] = [
  {
    code: "snapshot-stages",
    section: "8.2",
    rule: "snapshot goes through image_pending_upload, then image_uploading, and leaves the guest as it was",
    needs: ["snapshot"],
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.spawned(on);
      const stages: string[] = [];
      const updateTaskState = async (stage: string) => void stages.push(stage);
      await on.host.snapshot(instance, IMAGE, { updateTaskState });
      const rule = "call updateTaskState with image_pending_upload, then image_uploading";
      must(
        stages.join() === "image_pending_upload,image_uploading",
        "snapshot",
        rule,
        `found ${stages.join() || "no call"}`,
      );
      await mustBe(on, instance, "running", "snapshot", "that ran before");
    },
  },
  {
    code: "snapshot-stops",
    section: "8.2",
    rule: "snapshot ends with the error of updateTaskState when its instance is wanted otherwise",
    needs: ["snapshot"],
    run: async (harness) => {
      const on = await harness.connect();
      const instance = await harness.spawned(on);
      const rejection = new Error("UnexpectedDeletingTaskState");
      const updateTaskState = () => Promise.reject(rejection);
      const outcome = await on.host.snapshot(instance, IMAGE, { updateTaskState }).then(
        () => "it succeeded",
        (error: unknown) => (error === rejection ? null : `it threw ${textOf(error)}`),
      );
      must(outcome === null, "snapshot", "let the error of updateTaskState pass", outcome ?? "");
    },
  },
  {
    code: "snapshot-absent",
    section: "8.2",
    rule: "snapshot of a guest that is not there throws InstanceNotRunning",
    needs: ["snapshot"],
    run: async (harness) => {
      const on = await harness.connect();
      const work = on.host.snapshot(await harness.instance(on), IMAGE, {
        updateTaskState: async () => {},
      });
      await failsWith(work, ["InstanceNotRunning"], "snapshot", "for a guest that is not there");
    },
  },
];
