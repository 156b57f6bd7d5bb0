import { expect, test } from "vitest";
import { callsOf } from "../../../fixtures/conductor-calls.js";
import { operationsOverNova } from "../../../fixtures/operations-over-nova.js";

/**
 * How many calls are wanted at most; real nova-computes made 12, 29, 36 and 11 when they were recorded. What is left looks at what
 * may have changed.
 */
const MAX_CALLS = { build: 8, "cold migration": 20, "live migration": 25, delete: 6 };

/** What is asked of a Nova's conductor, by operation. */
const TABLE: Readonly<Record<string, readonly string[]>> = {
  build: [
    "devstack1 Instance.save task_state=null vm_state=building",
    "devstack1 event_start compute__do_build_and_run_instance",
    "devstack1 Instance.save task_state=networking host=devstack1",
    "devstack1 ComputeNode.save",
    "devstack1 Instance.save task_state=block_device_mapping",
    "devstack1 Instance.save task_state=spawning",
    "devstack1 Instance.save task_state=null vm_state=active",
    "devstack1 event_finish_with_failure compute__do_build_and_run_instance",
  ],
  "cold migration": [
    "devstack2 BlockDeviceMappingList.get_by_instance_uuid",
    "devstack2 Migration.save dest_compute dest_node dest_compute_id dest_host",
    "devstack2 Instance.get_by_uuid",
    "devstack2 event_start compute_prep_resize",
    "devstack2 Instance.save availability_zone new_flavor system_metadata migration_context",
    "devstack2 ComputeNode.save",
    "devstack2 event_finish_with_failure compute_prep_resize",
    "devstack1 Migration.get_by_id",
    "devstack1 Instance.get_by_uuid",
    "devstack1 event_start compute_resize_instance",
    "devstack1 Migration.save status=migrating",
    "devstack1 Instance.save task_state=resize_migrating",
    "devstack1 Instance.save task_state=resize_migrated host=devstack2",
    "devstack1 Migration.save status=post-migrating",
    "devstack1 event_finish_with_failure compute_resize_instance",
    "devstack2 event_start compute_finish_resize",
    "devstack2 Instance.save task_state=resize_finish",
    "devstack2 Migration.save status=finished",
    "devstack2 Instance.save task_state=null vm_state=resized",
    "devstack2 event_finish_with_failure compute_finish_resize",
  ],
  "its confirmation": [
    "devstack1 Migration.get_by_id",
    "devstack1 Instance.get_by_uuid",
    "devstack1 event_start compute_confirm_resize",
    "devstack1 Instance.save vm_state=active",
    "devstack1 Migration.save status=confirmed",
    "devstack1 ComputeNode.save",
    "devstack1 Instance.get_by_uuid",
    "devstack1 Instance.save old_flavor new_flavor system_metadata",
    "devstack1 event_finish_with_failure compute_confirm_resize",
  ],
  resize: [
    "devstack1 BlockDeviceMappingList.get_by_instance_uuid",
    "devstack1 Migration.save dest_compute dest_node dest_compute_id dest_host",
    "devstack1 Instance.get_by_uuid",
    "devstack1 event_start compute_prep_resize",
    "devstack1 Instance.save availability_zone new_flavor system_metadata migration_context",
    "devstack1 ComputeNode.save",
    "devstack1 event_finish_with_failure compute_prep_resize",
    "devstack2 Migration.get_by_id",
    "devstack2 Instance.get_by_uuid",
    "devstack2 event_start compute_resize_instance",
    "devstack2 Migration.save status=migrating",
    "devstack2 Instance.save task_state=resize_migrating",
    "devstack2 Instance.save task_state=resize_migrated host=devstack1",
    "devstack2 Migration.save status=post-migrating",
    "devstack2 event_finish_with_failure compute_resize_instance",
    "devstack1 event_start compute_finish_resize",
    "devstack1 Instance.save task_state=resize_finish",
    "devstack1 Migration.save status=finished",
    "devstack1 Instance.save task_state=null vm_state=resized",
    "devstack1 event_finish_with_failure compute_finish_resize",
  ],
  "its revert": [
    "devstack1 Migration.get_by_id",
    "devstack1 Instance.get_by_uuid",
    "devstack1 event_start compute_revert_resize",
    "devstack1 Instance.save migration_context",
    "devstack1 Migration.save status=reverted",
    "devstack1 ComputeNode.save",
    "devstack1 event_finish_with_failure compute_revert_resize",
    "devstack2 Migration.get_by_id",
    "devstack2 Instance.get_by_uuid",
    "devstack2 event_start compute_finish_revert_resize",
    "devstack2 ComputeNode.get_by_host_and_nodename",
    "devstack2 Instance.save host=devstack2",
    "devstack2 Instance.get_by_uuid",
    "devstack2 Instance.get_by_uuid",
    "devstack2 Instance.save task_state=null vm_state=active",
    "devstack2 event_finish_with_failure compute_finish_revert_resize",
  ],
  "live migration": [
    "devstack1 BlockDeviceMappingList.get_by_instance_uuid",
    "devstack1 event_start compute_check_can_live_migrate_destination",
    "devstack1 InstanceGroup.get_by_instance_uuid",
    "devstack2 event_start compute_check_can_live_migrate_source",
    "devstack2 event_finish_with_failure compute_check_can_live_migrate_source",
    "devstack1 event_finish_with_failure compute_check_can_live_migrate_destination",
    "devstack2 event_start compute_live_migration",
    "devstack2 Migration.get_by_id",
    "devstack2 Instance.get_by_uuid",
    "devstack2 Migration.save status=queued",
    "devstack2 Migration.save status=preparing",
    "devstack1 MigrationList.get_by_filters",
    "devstack1 event_start compute_pre_live_migration",
    "devstack1 event_finish_with_failure compute_pre_live_migration",
    "devstack2 Migration.save status=running",
    "devstack1 MigrationList.get_by_filters",
    "devstack1 event_start compute_post_live_migration_at_destination",
    "devstack1 Instance.get_by_uuid",
    "devstack1 Instance.save task_state=null host=devstack1",
    "devstack1 ComputeNode.save",
    "devstack1 event_finish_with_failure compute_post_live_migration_at_destination",
    "devstack2 MigrationList.get_by_filters",
    "devstack2 ComputeNode.save",
    "devstack2 Migration.save status=completed",
    "devstack2 event_finish_with_failure compute_live_migration",
  ],
  evacuation: [
    "devstack2 Migration.save dest_compute dest_node dest_compute_id dest_host",
    "devstack2 BlockDeviceMappingList.get_by_instance_uuid",
    "devstack2 Instance.get_by_uuid",
    "devstack2 event_start compute_rebuild_instance",
    "devstack2 InstanceActionList.get_by_instance_uuid",
    "devstack2 Instance.save availability_zone migration_context",
    "devstack2 Migration.save status=pre-migrating",
    "devstack2 ComputeNode.save",
    "devstack2 InstanceActionList.get_by_instance_uuid",
    "devstack2 Instance.save task_state=rebuild_block_device_mapping",
    "devstack2 InstanceActionList.get_by_instance_uuid",
    "devstack2 Instance.save task_state=rebuild_spawning",
    "devstack2 InstanceActionList.get_by_instance_uuid",
    "devstack2 Instance.save task_state=null vm_state=active host=devstack2",
    "devstack2 Migration.save status=done",
    "devstack2 ComputeNode.save",
    "devstack2 event_finish_with_failure compute_rebuild_instance",
  ],
  delete: [
    "devstack2 Instance.get_by_uuid",
    "devstack2 event_start compute_terminate_instance",
    "devstack2 Instance.save task_state=null vm_state=deleted",
    "devstack2 ComputeNode.save",
    "devstack2 Instance.destroy",
    "devstack2 event_finish_with_failure compute_terminate_instance",
  ],
};

test("13 what each operation asks of a Nova's conductor, call by call", async () => {
  const { published, hosts, complaints } = await operationsOverNova("2025.1");
  const callsByOperation = Object.fromEntries(
    Object.keys(TABLE).map((operation) => [operation, callsOf(published[operation] ?? [], hosts)]),
  );
  expect(callsByOperation).toEqual(TABLE);
  for (const [operation, most] of Object.entries(MAX_CALLS)) {
    expect(callsByOperation[operation]?.length, operation).toBeLessThanOrEqual(most);
  }
  expect(complaints).toEqual([]);
});
