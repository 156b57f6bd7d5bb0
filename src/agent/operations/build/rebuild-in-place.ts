import { isConductorError } from "../../../conductor-client/errors.js";
import { type Instance, type InstanceChanges, isRootDevice, type TaskState } from "../../../records/index.js";
import { LOCAL_DISKS } from "../../../virt/driver-host.js";
import { BuildAbortException } from "../../../virt/errors.js";
import type { Allocations, BlockDeviceInfo } from "../../../virt/types.js";
import type { Found } from "../flow/admission.js";
import type { AdmittedFlow, Call, OperationServices, RequestOf } from "../flow/contract.js";
import { attempt, erroringOut, recordingFault, setErrorIfSuperseded, withActionEvent } from "../flow/error-wrappers.js";
import { destroyOptions, spawnOptions } from "../flow/guest-options.js";
import { followGuest, runSteps, stepList } from "../flow/step-list.js";

interface RebuildProgress {
  readonly services: OperationServices;
  readonly request: RequestOf<"rebuild_instance">;
  /** As last saved. */
  instance: Instance;
  /** True if the guest was shut down before, and stays so. */
  readonly stopped: boolean;
  allocations: Allocations;
  /** The guest's disks; local ones only until its volumes are connected again. */
  blockDevices: BlockDeviceInfo;
}

const STEPS = stepList<RebuildProgress>("rebuild_instance", {
  begin: async (progress) => {
    const { services, request, instance } = progress;
    const { placement } = services;
    const held = await placement.getAllocationsForConsumer(instance.uuid, { requestId: request.requestId });
    progress.allocations = held.allocations;
    // A volume-backed instance has no image of its own.
    const imageRef = instance.imageRef === "" ? "" : request.imageRef;
    const changes = { taskState: "rebuild_block_device_mapping", imageRef } as const;
    await advance(progress, changes, "rebuilding");
  },
  // A node of Ironic is never released in between: another instance could take it.
  destroy: async ({ services, instance }) => {
    const { driver } = services;
    if (!driver.supports("rebuild")) {
      await driver.destroy(instance, await destroyOptions(services, instance, true));
    }
    await services.volumes.reserveAgain(instance);
  },
  reimage: async (progress) => {
    if (progress.request.reimageBootVolume) {
      await reimageRoot(progress);
    }
  },
  connect_volumes: async (progress) => {
    const { services, instance } = progress;
    progress.blockDevices = await services.volumes.connect(instance);
  },
  spawn: async (progress) => {
    const { services, allocations, stopped, blockDevices } = progress;
    const { driver } = services;
    await advance(progress, { taskState: "rebuild_spawning" }, "rebuild_block_device_mapping");
    const { instance } = progress;
    const options = spawnOptions(instance, allocations, { blockDevices, powerOn: !stopped });
    await (driver.supports("rebuild") ? driver.rebuild(instance, options) : driver.spawn(instance, options));
  },
  record: async (progress) => {
    const { services, instance, stopped } = progress;
    const { driver, runtime } = services;
    const powerState = await driver.powerState(instance);
    const vmState = stopped ? "stopped" : "active";
    const changes = { vmState, taskState: null, powerState, launchedAt: runtime.clock.now() } as const;
    await advance(progress, changes, "rebuild_spawning");
  },
});

/** Gives the root volume the data of another image. @throws {BuildAbortException} */
async function reimageRoot({ services, request, instance }: RebuildProgress): Promise<void> {
  const root = (await services.volumes.devices(instance)).find(isRootDevice);
  const volumeId = root?.volumeId ?? "";
  const seconds = services.config.defaults.reimageTimeoutPerGb * Math.max(1, root?.volumeSize ?? 1);
  try {
    await services.ports.events.during(
      { uuid: instance.uuid, name: "volume-reimaged", tags: [volumeId] },
      () => services.volumes.service.reimageVolume(volumeId, request.imageRef),
      { milliseconds: seconds * 1000 },
    );
  } catch (cause) {
    const message = `Build of instance ${instance.uuid} aborted: Failed to rebuild volume backed instance.`;
    throw new BuildAbortException(message, { cause });
  }
}

async function advance(progress: RebuildProgress, changes: InstanceChanges, from: TaskState): Promise<void> {
  const { services, request } = progress;
  progress.instance = await services.conductor.call("instance_save", {
    uuid: progress.instance.uuid,
    changes,
    expectedTaskState: [from],
    ofRequest: request.requestId,
  });
}

/** Spec 6.6 "rebuild": no claim in tracker or Placement. */
export const REBUILD_INSTANCE: AdmittedFlow<"rebuild_instance"> = {
  steps: [STEPS],
  handOn: followGuest,
  run: rebuildInPlace,
};

/**
 * Rebuilds on the same host. The allocations stay as they are, also on failure.
 * @throws the failed step's error; the instance is then in error. An instance that is being deleted is left to the
 * delete.
 */
async function rebuildInPlace(
  { services, request, event }: Call<"rebuild_instance">,
  { instance }: Found,
): Promise<void> {
  const { instanceUuid, requestId } = request;
  const stopped = instance.vmState === "stopped" || request.targetStopped;
  const begun = { allocations: {}, blockDevices: LOCAL_DISKS };
  const progress: RebuildProgress = { services, request, instance, stopped, ...begun };
  await withActionEvent(services, event, () =>
    recordingFault(services, instanceUuid, async () => {
      try {
        await erroringOut(services, instance, requestId, () => runSteps(services, STEPS, progress));
      } catch (error) {
        if (isConductorError(error, "UnexpectedDeletingTaskState")) {
          return;
        }
        await setErrorIfSuperseded(services, instance, error);
        await stripHostAllocations(services, instance, requestId, error);
        throw error;
      }
    }),
  );
}

/** Reproduces an upstream defect after a failed rebuild (spec 6.6 GAP), behind its quirk. */
async function stripHostAllocations(
  services: OperationServices,
  instance: Instance,
  requestId: string,
  error: unknown,
) {
  if (!services.config.workarounds.upstreamQuirks.has("rebuild-strips-allocations")) {
    return;
  }
  if (isConductorError(error, "UnexpectedTaskState")) {
    return;
  }
  const root = services.tracker.nodes().get(instance.node ?? "")?.uuid;
  if (root === undefined) {
    return;
  }
  await attempt(services, instance.uuid, "strip the host's allocations", () =>
    services.placement.removeProviderTreeFromInstanceAllocation(instance.uuid, root, { retry: false, requestId }),
  );
}
