import { InstanceNotFound, UnexpectedTaskState, UnexpectedVmState } from "../../conductor/errors.js";
import type { Instance, InstanceChanges, TaskState } from "../../conductor/records/index.js";
import type { BuildRequestOptions, Claim } from "../contracts.js";
import { buildFailed } from "./build-failure.js";
import { mustNotUndo, withActionEvent } from "./error-wrappers.js";
import { imageMeta, LOCAL_DISKS } from "./guest-options.js";
import { type OperationParts, releaseAllocations } from "./parts.js";

/** How far a build came, for what has to be undone. */
export interface BuildProgress {
  instance: Instance;
  claim: Claim | null;
  /** The driver was asked to prepare, or to spawn. */
  driverAsked: boolean;
}

/** Spec 6.1, rows 4 to 7. The rows before are the API's, the scheduler's and the conductor's. */
export async function buildInstance(parts: OperationParts, request: BuildRequestOptions): Promise<void> {
  const instance = await acceptBuild(parts, request); // 4
  if (!instance) return;
  const progress: BuildProgress = { instance, claim: null, driverAsked: false };
  const { instanceUuid, requestId, node } = request;
  await withActionEvent(
    parts.context,
    { instanceUuid, requestId, event: "compute__do_build_and_run_instance" },
    async () => {
      try {
        progress.claim = await parts.tracker.instanceClaim(instance, node, request.allocations, requestId); // 5
        progress.instance = progress.claim.instance;
        await spawn(parts, request, progress); // 6
        await finish(parts, progress); // 7
        parts.tracker.noteBuild(node, "succeeded");
      } catch (error) {
        if (mustNotUndo(error)) throw error;
        await buildFailed(parts, request, progress, error);
      }
    },
  );
}

/**
 * Row 4. Null: nothing is to be built. The message is old when the instance has a host, or is not building any more; its
 * allocations go unless a host owns it.
 */
async function acceptBuild(
  parts: OperationParts,
  { instanceUuid, requestId }: BuildRequestOptions,
): Promise<Instance | null> {
  const { conductor, runtime } = parts.context;
  const found = await conductor.call("instance_get", { uuid: instanceUuid });
  if (found?.host) {
    runtime.logger.warn("instance has a host already: it is not built again", {
      instance: instanceUuid,
      host: found.host,
    });
    return null;
  }
  try {
    return await conductor.call("instance_save", {
      uuid: instanceUuid,
      changes: { vmState: "building", taskState: null },
      expectedTaskState: ["scheduling", null],
      expectedVmState: ["building"],
    });
  } catch (error) {
    const gone =
      error instanceof InstanceNotFound || error instanceof UnexpectedTaskState || error instanceof UnexpectedVmState;
    if (!gone) throw error;
    runtime.logger.info("instance is not to be built any more: its allocations are removed", {
      instance: instanceUuid,
      err: error,
    });
    await releaseAllocations(parts, instanceUuid, { force: true, requestId });
    return null;
  }
}

/** Row 6. Networks and volumes take no work here; their task states are shown as Nova shows them. */
async function spawn(parts: OperationParts, request: BuildRequestOptions, progress: BuildProgress): Promise<void> {
  const { driver } = parts.context;
  await advance(parts, progress, { taskState: "networking" }, [null]);
  progress.driverAsked = true;
  await driver.prepareForSpawn(progress.instance);
  await advance(parts, progress, { taskState: "block_device_mapping" }, ["networking"]);
  await advance(parts, progress, { taskState: "spawning" }, ["block_device_mapping"]);
  await driver.spawn(progress.instance, {
    image: imageMeta(progress.instance),
    allocations: request.allocations,
    network: [],
    blockDevices: LOCAL_DISKS,
    powerOn: true,
  });
}

/** Row 7; an instance that was deleted meanwhile is not spawning any more. */
async function finish(parts: OperationParts, progress: BuildProgress): Promise<void> {
  const { driver, runtime } = parts.context;
  const powerState = await driver.powerState(progress.instance);
  const launchedAt = runtime.clock.now();
  await advance(parts, progress, { vmState: "active", taskState: null, powerState, launchedAt }, ["spawning"]);
}

async function advance(
  parts: OperationParts,
  progress: BuildProgress,
  changes: InstanceChanges,
  expectedTaskState: (TaskState | null)[],
): Promise<void> {
  const { uuid } = progress.instance;
  progress.instance = await parts.context.conductor.call("instance_save", { uuid, changes, expectedTaskState });
}
