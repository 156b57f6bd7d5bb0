import { InstanceNotFound, UnexpectedTaskState, UnexpectedVmState } from "../../../conductor/errors.js";
import type { Instance, InstanceChanges, TaskState } from "../../../records/index.js";
import { LOCAL_DISKS } from "../../block-devices.js";
import type { Refusal } from "../admission/admission.js";
import type { AdmittedFlow, Call, OperationParts, RequestOf } from "../contract.js";
import { mustNotUndo, withActionEvent } from "../flow/error-wrappers.js";
import { imageMeta } from "../flow/guest-options.js";
import { releaseAllocations } from "../flow/release-allocations.js";
import { runSteps, stepList } from "../flow/step-list.js";
import { buildFailed } from "./build-failure.js";
import type { BuildProgress } from "./build-progress.js";

type Request = RequestOf<"build_and_run_instance">;

interface RunningBuild extends BuildProgress {
  readonly parts: OperationParts;
  readonly request: Request;
}

/** Rows 5 to 7. Networks and volumes take no work here; their task states are shown as Nova shows them. */
const STEPS = stepList<RunningBuild>("build_and_run_instance", {
  claim: async (progress) => {
    const { parts, request, instance } = progress;
    const { node, allocations, requestId } = request;
    progress.claim = await parts.tracker.instanceClaim(instance, node, allocations, requestId);
    progress.instance = progress.claim.instance;
  },
  prepare: async (progress) => {
    const { parts, request } = progress;
    await advance(parts, progress, { taskState: "networking", taskRequestId: request.requestId }, [null]);
    progress.driverAsked = true;
    await parts.context.driver.prepareForSpawn(progress.instance);
    await advance(parts, progress, { taskState: "block_device_mapping" }, ["networking"]);
    await advance(parts, progress, { taskState: "spawning" }, ["block_device_mapping"]);
  },
  spawn: async ({ parts, request, instance }) => {
    await parts.context.driver.spawn(instance, {
      image: imageMeta(instance),
      allocations: request.allocations,
      network: [],
      blockDevices: LOCAL_DISKS,
      powerOn: true,
    });
  },
  // An instance that was deleted meanwhile is not spawning any more.
  record: async (progress) => {
    const { driver, runtime } = progress.parts.context;
    const powerState = await driver.powerState(progress.instance);
    const launchedAt = runtime.clock.now();
    const changes = { vmState: "active", taskState: null, powerState, launchedAt } as const;
    await advance(progress.parts, progress, changes, ["spawning"]);
  },
});

/** Spec 6.1, rows 4 to 7. The rows before are the API's, the scheduler's and the conductor's. */
export const BUILD_INSTANCE: AdmittedFlow<"build_and_run_instance"> = { steps: [STEPS], run: build, refused };

async function build({ parts, request, event }: Call<"build_and_run_instance">): Promise<void> {
  const instance = await acceptBuild(parts, request); // 4
  if (!instance) {
    return;
  }
  const progress: RunningBuild = { parts, request, instance, claim: null, driverAsked: false };
  const failed = await withActionEvent(parts.context, event, async () => {
    try {
      await runSteps(parts, STEPS, progress);
      parts.tracker.noteBuild(request.node, "succeeded");
      return null;
    } catch (error) {
      if (mustNotUndo(error)) {
        throw error;
      }
      return await buildFailed(parts, request, progress, error);
    }
  });
  // Nova's event has succeeded when the build has come to an end, whichever; the instance's fault tells of a failure.
  if (failed) {
    throw failed.error;
  }
}

/** Row 4. Null: it is not to be built any more. */
async function acceptBuild(parts: OperationParts, request: Request): Promise<Instance | null> {
  try {
    return await parts.context.conductor.call("instance_save", {
      uuid: request.instanceUuid,
      changes: { vmState: "building", taskState: null },
      expectedTaskState: ["scheduling", null],
      expectedVmState: ["building"],
    });
  } catch (error) {
    const gone =
      error instanceof InstanceNotFound || error instanceof UnexpectedTaskState || error instanceof UnexpectedVmState;
    if (!gone) {
      throw error;
    }
    parts.context.runtime.logger.info("instance is not to be built any more: its allocations are removed", {
      instance: request.instanceUuid,
      err: error,
    });
    await releaseAllocations(parts, request.instanceUuid, { force: true, requestId: request.requestId });
    return null;
  }
}

/** Nobody builds it any more: what was claimed for it goes, unless a host owns it. */
async function refused(
  { parts, request: { instanceUuid, requestId } }: Call<"build_and_run_instance">,
  { found }: Refusal,
): Promise<void> {
  const host = found?.instance.host ?? null;
  if (host === null) {
    await releaseAllocations(parts, instanceUuid, { force: true, requestId });
  }
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
