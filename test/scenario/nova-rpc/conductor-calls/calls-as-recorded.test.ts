import { expect, test } from "vitest";
import { operationsOverNova } from "../../../fixtures/operations-over-nova.js";
import { collectReportedStates, differencesOf, recordedStates } from "../../../fixtures/reported-states.js";

/** By operation: what was recorded of it, and how ours differs from it. */
const RECORDED: Readonly<Record<string, readonly [phase: string, ...differences: string[]]>> = {
  build: [
    "build",
    // A build that was deleted before it began is none of the action's events.
    "- 1 begins compute__do_build_and_run_instance",
    "- 1 Instance host=1",
    "- 1 Instance task_state=networking",
    "+ 1 begins compute__do_build_and_run_instance",
    // In one save, so that nobody dies between them.
    "+ 1 Instance host=1 task_state=networking",
  ],
  stop: ["stop-server"],
  start: ["start-server"],
  pause: ["pause"],
  reboot: ["reboot-soft"],
  rescue: ["rescue"],
  // The API has written these already.
  rebuild: ["rebuild", "- 1 Instance task_state=rebuilding", "- 1 Instance host=1"],
  "shelve and offload": [
    "shelve-and-offload",
    // As every driver but nova's fake one.
    "+ 1 Instance task_state=shelving_image_pending_upload",
    "! 1 Instance task_state=shelving_image_uploading if shelving_image_pending_upload, not shelving",
    // In one save, so that nobody dies between them.
    "- 1 Instance vm_state=shelved_offloaded task_state=null",
    "- 1 Instance host=null",
    "+ 1 Instance host=null vm_state=shelved_offloaded task_state=null",
  ],
  unshelve: ["unshelve-offloaded"],
  "cold migration": [
    "cold-migrate",
    // The conductor has written it already.
    "- 1 Migration status=pre-migrating",
    // The source waits until the destination has said that it was told.
    "- 2 begins compute_resize_instance",
    "+ 2 begins compute_resize_instance",
    // Whose the instance is comes first (9.3 b).
    "- 2 Migration status=post-migrating",
    "+ 2 Migration status=post-migrating",
  ],
  "its confirmation": [
    "cold-migrate-confirm",
    // The instance first (9.3 c); its task, of which it has none, stays.
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
    // The event is all of it, not only what comes before the copy.
    "- 2 ends compute_live_migration",
    "+ 2 ends compute_live_migration",
  ],
  evacuation: [
    "evacuate",
    "- 1 Instance task_state=rebuilding",
    // In one save.
    "- 1 Instance vm_state=active task_state=null",
    "- 1 Instance host=1",
    "+ 1 Instance host=1 vm_state=active task_state=null",
  ],
  delete: ["delete"],
};

test("12.1 operations tell a conductor what nova-computes have told it, in their order", async () => {
  const { published, hosts } = await operationsOverNova("2025.1");
  const found = Object.entries(RECORDED).map(([operation, [phase]]) => {
    const ours = collectReportedStates(published[operation] ?? [], hosts);
    return [operation, [phase, ...differencesOf(recordedStates("zed", phase), ours)]];
  });
  expect(Object.fromEntries(found)).toEqual(RECORDED);
});
