import type { Flavor, Instance, Migration } from "../../records/index.js";
import type { Allocations } from "../../virt/types.js";
import { takeResources } from "./assigned-resources.js";
import { claimableNode, countMove, moveContext, TrackerClaim, unlessTaken, updateOrRelease } from "./claims.js";
import type { Claim, ClaimAbort } from "./contract.js";
import { refreshDevices } from "./device-providers.js";
import type { TrackerState } from "./tracker-state.js";

/**
 * Spec 4.2, a resize on its destination: a move claim with the new flavor, which is counted beside the instances. In the same save
 * the row gets the state that the instance had before (spec 6.3 row 4).
 * @throws {ComputeResourcesUnavailable} UnexpectedTaskState: the instance is not in resize_prep any more.
 */
export async function resizeClaim(
  tracker: TrackerState,
  instance: Instance,
  nodeName: string,
  migration: Migration,
  newFlavor: Flavor,
  allocations: Allocations,
  requestId?: string,
): Promise<Claim> {
  const { conductor, host, driver } = tracker.context;
  return tracker.lock.run(async () => {
    const node = await claimableNode(tracker, nodeName);
    const resources = takeResources(node, allocations);
    tracker.binding.epoch += 1;
    const saved = await conductor.call("save_together", {
      instance: {
        uuid: instance.uuid,
        changes: {
          migrationContext: moveContext(instance, migration, resources),
          newFlavor,
          systemMetadata: { ...instance.systemMetadata, old_vm_state: instance.vmState },
        },
        expectedTaskState: ["resize_prep"],
      },
      migration: {
        id: migration.id,
        changes: {
          destCompute: host,
          destNode: nodeName,
          destComputeId: node.row.id,
          destHost: driver.getHostIpAddr(),
          status: "pre-migrating",
        },
      },
    });
    const [moved, move] = [saved.instance ?? instance, saved.migration ?? migration];
    countMove(tracker, node, moved, move);
    node.account.assign(moved.uuid, resources);
    refreshDevices(tracker, node, allocations);
    const release = async ({ migrationStatus, instance: changes }: ClaimAbort = {}): Promise<Instance> => {
      tracker.binding.epoch += 1;
      node.account.forgetMigration(moved.uuid);
      const end = migrationStatus ? { id: move.id, changes: { status: migrationStatus } } : undefined;
      const instanceChange = {
        uuid: moved.uuid,
        changes: { migrationContext: null, newFlavor: null, ...changes },
        expectedTaskState: ["resize_prep"] as const,
      };
      return unlessTaken(tracker, node, { instance: moved, migration: move, end }, () =>
        conductor.call("save_together", { instance: instanceChange, ...(end ? { migration: end } : {}) }),
      );
    };
    await updateOrRelease(tracker, node, release, requestId);
    return new TrackerClaim(tracker, node, moved, move, release);
  });
}
