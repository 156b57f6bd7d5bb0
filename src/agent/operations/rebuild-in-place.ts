import { UnexpectedTaskState } from "../../conductor/errors.js";
import type { Instance, InstanceChanges, TaskState } from "../../conductor/records/index.js";
import type { RebuildOptions } from "../contracts.js";
import { attempt, erroringOut, recordingFault, withActionEvent } from "./error-wrappers.js";
import { destroyOptions, imageMeta, LOCAL_DISKS } from "./guest-options.js";
import type { OperationParts } from "./parts.js";

/**
 * Spec 6.6 "rebuild": no claim in tracker or Placement; the allocations stay as they are, also when it fails.
 * @throws what the failed step threw; the instance is then in error.
 */
export async function rebuildInPlace(parts: OperationParts, request: RebuildOptions): Promise<void> {
  const { context } = parts;
  const { instanceUuid, requestId } = request;
  const instance = await context.conductor.call("instance_get", { uuid: instanceUuid });
  if (instance?.host !== context.host) {
    context.runtime.logger.warn("instance is not on this host: it is not rebuilt here", { instance: instanceUuid });
    return;
  }
  await withActionEvent(context, { instanceUuid, requestId, event: "compute_rebuild_instance" }, () =>
    recordingFault(context, instanceUuid, async () => {
      try {
        await erroringOut(context, instance, () => rebuildSteps(parts, instance, request));
      } catch (error) {
        await stripHostAllocations(parts, instance, error);
        throw error;
      }
    }),
  );
}

async function rebuildSteps({ context }: OperationParts, instance: Instance, request: RebuildOptions): Promise<void> {
  const { conductor, driver, runtime } = context;
  const { uuid } = instance;
  const save = (changes: InstanceChanges, expectedTaskState: (TaskState | null)[]) =>
    conductor.call("instance_save", { uuid, changes, expectedTaskState });
  const stopped = instance.vmState === "stopped" || request.targetStopped;
  const { allocations } = await context.placement.getAllocationsForConsumer(uuid, { requestId: request.requestId });
  await save({ taskState: "rebuild_block_device_mapping", imageRef: request.imageRef }, ["rebuilding"]);
  // A node of Ironic is never given back in between: others could take it.
  const inPlace = driver.supports("rebuild");
  if (!inPlace) await driver.destroy(instance, destroyOptions(true));
  const spawning = await save({ taskState: "rebuild_spawning" }, ["rebuild_block_device_mapping"]);
  const options = {
    image: imageMeta(spawning),
    allocations,
    network: [],
    blockDevices: LOCAL_DISKS,
    powerOn: !stopped,
  };
  await (inPlace ? driver.rebuild(spawning, options) : driver.spawn(spawning, options));
  const powerState = await driver.powerState(spawning);
  const vmState = stopped ? "stopped" : "active";
  await save({ vmState, taskState: null, powerState, launchedAt: runtime.clock.now() }, ["rebuild_spawning"]);
}

/** What upstream does by mistake after a failed rebuild (spec 6.6 GAP), behind its quirk. */
async function stripHostAllocations({ context, tracker }: OperationParts, instance: Instance, error: unknown) {
  if (!context.config.workarounds.upstreamQuirks.has("rebuild-strips-allocations")) return;
  if (error instanceof UnexpectedTaskState) return;
  const root = tracker.nodes().get(instance.node ?? "")?.uuid;
  if (root === undefined) return;
  await attempt(context, instance.uuid, "strip the host's allocations", () =>
    context.placement.removeProviderTreeFromInstanceAllocation(instance.uuid, root, { retry: false }),
  );
}
