import { isConductorError } from "../../../conductor-client/errors.js";
import {
  type AllocationsByProvider,
  type Instance,
  type InstanceChanges,
  imagePropertiesOf,
  type TaskState,
} from "../../../records/index.js";
import { publicMessageOf } from "../../../runtime/error-messages.js";
import { LOCAL_DISKS } from "../../../virt/driver-host.js";
import { BuildAbortException, VirtualInterfaceCreateException } from "../../../virt/errors.js";
import type { BlockDeviceInfo } from "../../../virt/types.js";
import type { AdmissionRejection } from "../flow/admission.js";
import type { AdmittedFlow, Call, OperationServices } from "../flow/contract.js";
import { claimInGroup, heldAllocations } from "../flow/destination-checks.js";
import { mustNotUndo, withActionEvent } from "../flow/error-wrappers.js";
import { spawnOptions } from "../flow/guest-options.js";
import { releaseAllocations } from "../flow/release-allocations.js";
import { runSteps, stepList } from "../flow/step-list.js";
import { type BuildProgress, buildFailed } from "./build-failure.js";

interface RunningBuild extends BuildProgress {
  /** The instance's allocations in Placement; empty until the claim. */
  allocations: AllocationsByProvider;
  /** The guest's disks; local ones only until its volumes are connected. */
  blockDevices: BlockDeviceInfo;
}

/** Rows 5 to 7. Networks need no work here; their task state is set as in Nova. */
const STEPS = stepList<RunningBuild>("build_and_run_instance", {
  claim: async (progress) => {
    const { services, request, instance } = progress;
    const { node, requestId, unservable, instanceUuid } = request;
    if (unservable !== undefined) {
      throw new BuildAbortException(`Build of instance ${instanceUuid} aborted: ${unservable}`);
    }
    progress.allocations = await heldAllocations(services, request);
    // In one write with the claim: an instance that is being deleted cannot be claimed, and no crash can fall between
    // the two.
    const networking = {
      changes: { taskState: "networking", taskRequestId: requestId },
      expectedTaskState: [null],
    } as const;
    await claimInGroup(services, "build", request, async () => {
      const { allocations } = progress;
      progress.claim = await services.tracker.instanceClaim(instance, node, allocations, requestId, networking);
      progress.instance = progress.claim.instance;
    });
  },
  prepare: async (progress) => {
    const { services } = progress;
    progress.driverCalled = true;
    await services.driver.prepareForSpawn(progress.instance);
    await advance(progress, { taskState: "block_device_mapping" }, ["networking"]);
  },
  connect_volumes: async (progress) => {
    const { services, instance } = progress;
    try {
      progress.blockDevices = await services.volumes.connect(instance);
    } catch (error) {
      throw mustNotUndo(error) || isConductorError(error) ? error : notConnected(instance.uuid, error);
    }
    const drive = addsConfigDrive(services, progress.instance) ? { configDrive: true } : {};
    await advance(progress, { taskState: "spawning", ...drive }, ["block_device_mapping"]);
  },
  spawn: async ({ services, allocations, instance, blockDevices }) => {
    try {
      await services.driver.spawn(instance, spawnOptions(instance, allocations, { blockDevices, powerOn: true }));
    } catch (error) {
      throw error instanceof VirtualInterfaceCreateException ? notAllocated(instance.uuid, error) : error;
    }
  },
  // An instance that was deleted meanwhile is no longer spawning.
  record: async (progress) => {
    const { driver, runtime } = progress.services;
    const powerState = await driver.powerState(progress.instance);
    const launchedAt = runtime.clock.now();
    const changes = { vmState: "active", taskState: null, powerState, launchedAt } as const;
    await advance(progress, changes, ["spawning"]);
  },
});

/** Spec 6.1, rows 4 to 7. The earlier rows belong to the API, the scheduler and the conductor. */
export const BUILD_INSTANCE: AdmittedFlow<"build_and_run_instance"> = { steps: [STEPS], run: build, onRejected };

async function build({ services, request, event }: Call<"build_and_run_instance">): Promise<void> {
  const instance = await acceptBuild(services, request); // row 4
  if (!instance) {
    return;
  }
  const begun = { allocations: {}, blockDevices: LOCAL_DISKS, claim: null, driverCalled: false };
  const progress: RunningBuild = { services, request, instance, ...begun };
  const failed = await withActionEvent(services, event, async () => {
    try {
      await runSteps(services, STEPS, progress);
      services.tracker.noteBuild(request.node, "succeeded");
      return null;
    } catch (error) {
      if (mustNotUndo(error)) {
        throw error;
      }
      return await buildFailed(progress, error);
    }
  });
  // Nova's event succeeds when the build has ended, with or without success; the instance's fault records the failure.
  if (failed) {
    throw failed.error;
  }
}

/** The image or this host's configuration can require a config drive that the user did not request. */
function addsConfigDrive(services: OperationServices, instance: Instance): boolean {
  const isMandatory = imagePropertiesOf(instance).img_config_drive === "mandatory";
  return !instance.configDrive && (services.config.defaults.forceConfigDrive || isMandatory);
}

/** A network failure would recur on any other host. */
function notAllocated(uuid: string, cause: Error): BuildAbortException {
  const message = `Build of instance ${uuid} aborted: Failed to allocate the network(s), not rescheduling.`;
  return new BuildAbortException(message, { cause });
}

/** As in Nova, no other host is tried after a failure of Block Storage. */
function notConnected(uuid: string, cause: unknown): BuildAbortException {
  return new BuildAbortException(`Build of instance ${uuid} aborted: ${publicMessageOf(cause)}`, { cause });
}

/** Row 4. Null: the instance must not be built any more. */
async function acceptBuild(services: OperationServices, request: BuildProgress["request"]): Promise<Instance | null> {
  try {
    return await services.conductor.call("instance_save", {
      uuid: request.instanceUuid,
      changes: { vmState: "building", taskState: null },
      expectedTaskState: ["scheduling", null],
      expectedVmState: ["building"],
    });
  } catch (error) {
    const gone = isConductorError(error, "InstanceNotFound", "UnexpectedTaskState", "UnexpectedVmState");
    if (!gone) {
      throw error;
    }
    services.logger.info("the build was cancelled: the instance's allocations are removed", {
      instance: request.instanceUuid,
      err: error,
    });
    await releaseAllocations(services, request.instanceUuid, { force: true, requestId: request.requestId });
    return null;
  }
}

/** The build was cancelled: its allocations are removed, unless a host owns the instance. */
async function onRejected(
  { services, request: { instanceUuid, requestId } }: Call<"build_and_run_instance">,
  { found }: AdmissionRejection,
): Promise<void> {
  const host = found?.instance.host ?? null;
  if (host === null) {
    await releaseAllocations(services, instanceUuid, { force: true, requestId });
  }
}

async function advance(
  progress: BuildProgress,
  changes: InstanceChanges,
  expectedTaskState: (TaskState | null)[],
): Promise<void> {
  const { uuid } = progress.instance;
  progress.instance = await progress.services.conductor.call("instance_save", { uuid, changes, expectedTaskState });
}
