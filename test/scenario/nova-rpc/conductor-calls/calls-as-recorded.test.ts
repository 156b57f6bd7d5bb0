import { expect, test } from "vitest";
import { operationsOverNova } from "../../../fixtures/operations-over-nova.js";
import { collectReportedStates, differencesOf, recordedStates } from "../../../fixtures/reported-states.js";

/** The recording of each operation, and the differences of ours. */
const RECORDED: Readonly<Record<string, readonly [phase: string, ...differences: string[]]>> = {
  build: [
    "build",
    // A build that is deleted before it begins starts no event of the action.
    "- 1 begins compute__do_build_and_run_instance",
    "- 1 Instance host=1",
    "- 1 Instance task_state=networking",
    "+ 1 begins compute__do_build_and_run_instance",
    // Saved at once, so that an agent cannot be killed in between.
    "+ 1 Instance host=1 task_state=networking",
  ],
  stop: ["stop-server"],
  start: ["start-server"],
  pause: ["pause"],
  reboot: ["reboot-soft"],
  rescue: ["rescue"],
  // The API has already written these.
  rebuild: ["rebuild", "- 1 Instance task_state=rebuilding", "- 1 Instance host=1"],
  "shelve and offload": [
    "shelve-and-offload",
    // As every driver except nova's fake one.
    "+ 1 Instance task_state=shelving_image_pending_upload",
    "! 1 Instance task_state=shelving_image_uploading if shelving_image_pending_upload, not shelving",
    // Saved at once, so that an agent cannot be killed in between.
    "- 1 Instance vm_state=shelved_offloaded task_state=null",
    "- 1 Instance host=null",
    "+ 1 Instance host=null vm_state=shelved_offloaded task_state=null",
  ],
  unshelve: ["unshelve-offloaded"],
  "cold migration": [
    "cold-migrate",
    // The conductor has already written it.
    "- 1 Migration status=pre-migrating",
    // The source waits until the destination has confirmed the message.
    "- 2 begins compute_resize_instance",
    "+ 2 begins compute_resize_instance",
    // The owner of the instance is written first (9.3 b).
    "- 2 Migration status=post-migrating",
    "+ 2 Migration status=post-migrating",
  ],
  "its confirmation": [
    "cold-migrate-confirm",
    // The instance is saved first (9.3 c); its task state, which is not set, is not saved.
    "+ 1 Instance vm_state=active",
    "- 1 Instance vm_state=active task_state=null",
  ],
  resize: [
    "resize",
    "- 1 Migration status=pre-migrating",
    "- 2 Migration status=post-migrating",
    "+ 2 Migration status=post-migrating",
  ],
  "its revert": [
    "cold-migrate-revert",
    "- 2 begins compute_finish_revert_resize",
    "+ 2 begins compute_finish_revert_resize",
  ],
  "live migration": [
    "live-migrate",
    // The event covers the complete migration, not only the part before the copy.
    "- 2 ends compute_live_migration",
    "+ 2 ends compute_live_migration",
  ],
  evacuation: [
    "evacuate",
    "- 1 Instance task_state=rebuilding",
    // Saved at once.
    "- 1 Instance vm_state=active task_state=null",
    "- 1 Instance host=1",
    "+ 1 Instance host=1 vm_state=active task_state=null",
  ],
  delete: ["delete"],
};

test("12.1 operations report to a conductor what recorded nova-computes reported, in the same order", async () => {
  const { published, hosts } = await operationsOverNova("2025.1");
  const found = Object.entries(RECORDED).map(([operation, [phase]]) => {
    const ours = collectReportedStates(published[operation] ?? [], hosts);
    return [operation, [phase, ...differencesOf(recordedStates("zed", phase), ours)]];
  });
  expect(Object.fromEntries(found)).toEqual(RECORDED);
});
