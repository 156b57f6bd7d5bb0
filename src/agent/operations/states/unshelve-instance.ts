import { isConductorError } from "../../../conductor-client/errors.js";
import { createAllocationError } from "../../../placement-client/errors.js";
import { type AllocationsByProvider, holdsTask, type Instance, type InstanceChanges } from "../../../records/index.js";
import { ImageServiceNotFound } from "../../../virt/errors.js";
import { ignore } from "../../ignore-errors.js";
import { type Claim, UNPLACED } from "../../tracker/contract.js";
import type { AdmissionRejection, Found } from "../flow/admission.js";
import type { AdmittedFlow, Call, OperationServices, RequestOf } from "../flow/contract.js";
import { assertServable, claimInGroup, heldAllocations } from "../flow/destination-checks.js";
import { addFault, attempt } from "../flow/error-wrappers.js";
import { destroyOptions, spawnOptions } from "../flow/guest-options.js";
import { releaseAllocations } from "../flow/release-allocations.js";
import { runOperation, stepList } from "../flow/step-list.js";

interface UnshelveProgress {
  readonly services: OperationServices;
  readonly request: RequestOf<"unshelve_instance">;
  instance: Instance;
  /** The instance's allocations in Placement; empty until the claim. */
  allocations: AllocationsByProvider;
  claim: Claim | null;
  /** True if the driver was called to create the guest. */
  spawned: boolean;
}

const STEPS = stepList<UnshelveProgress>("unshelve_instance", {
  accept: async (progress) => {
    const { services, instance, request } = progress;
    assertServable(request);
    progress.instance = await services.conductor.call("instance_save", {
      uuid: instance.uuid,
      // While the instance has no host, and after its allocations were released, the next start finds it by this value
      // (2.7).
      changes: { taskState: "spawning", launchedOn: services.host },
      expectedTaskState: ["unshelving"],
      expectedVmState: ["shelved_offloaded"],
    });
  },
  claim: async (progress) => {
    const { services, instance, request } = progress;
    const { node, requestId } = request;
    progress.allocations = await heldAllocations(services, request);
    await claimInGroup(services, "unshelve", request, async () => {
      progress.claim = await services.tracker.instanceClaim(instance, node, progress.allocations, requestId);
      progress.instance = progress.claim.instance;
    });
  },
  spawn: async (progress) => {
    const { services, instance, allocations } = progress;
    progress.spawned = true;
    const blockDevices = await services.volumes.connect(instance);
    const options = { blockDevices, image: instance.systemMetadata.shelved_image_id, powerOn: true };
    await services.driver.spawn(instance, spawnOptions(instance, allocations, options));
  },
  record: async (progress) => {
    const { services, instance } = progress;
    const { driver, runtime } = services;
    const changes: InstanceChanges = {
      vmState: "active",
      taskState: null,
      powerState: await driver.powerState(instance),
      launchedAt: runtime.clock.now(),
      systemMetadata: withoutShelvedMark(instance),
    };
    progress.instance = await services.tracker.saveInstance(instance, changes, ["spawning"]);
  },
});

/** Spec 6.6 "unshelve from offloaded", on the destination. */
export const UNSHELVE_INSTANCE: AdmittedFlow<"unshelve_instance"> = { steps: [STEPS], run: unshelve, onRejected };

/** @throws the error; the instance is then offloaded as before, without allocations */
async function unshelve(call: Call<"unshelve_instance">, { instance }: Found): Promise<void> {
  const { services, request } = call;
  const { shelved_image_id: snapshot } = instance.systemMetadata;
  const progress: UnshelveProgress = { services, request, instance, allocations: {}, claim: null, spawned: false };
  await runOperation(call, STEPS, progress, unshelveFailed);
  if (snapshot !== undefined && progress.instance.vmState === "active") {
    // Without an Image service no image was stored.
    await attempt(services, instance.uuid, `delete image ${snapshot}`, () =>
      services.images.remove(snapshot).catch(ignore(ImageServiceNotFound)),
    );
  }
}

/** Removes the allocations of the claim, unless a host or another unshelve request may own them by now. */
async function onRejected(
  { services, request: { instanceUuid, requestId } }: Call<"unshelve_instance">,
  { kind, found }: AdmissionRejection,
): Promise<void> {
  const owned = found !== null && found.instance.deleted === 0 && found.instance.host !== null;
  const contested = kind === "taken" && found?.instance.taskState !== "deleting";
  if (!owned && !contested) {
    await releaseAllocations(services, instanceUuid, { force: true, requestId });
  }
}

/**
 * Undoes the unshelve. While the guest or the allocations cannot be removed, or the row cannot be written, the instance
 * stays here with its task_state. An instance that is being deleted by now is removed with its guest.
 */
async function unshelveFailed(progress: UnshelveProgress, error: unknown): Promise<void> {
  const { services, instance } = progress;
  const { uuid } = instance;
  const taken = isConductorError(error, "UnexpectedTaskState");
  try {
    await removeGuest(progress);
    await takeOff(progress, taken);
  } catch (err) {
    services.logger.error("could not undo the failed unshelve", { instance: uuid, err });
    if (!taken) {
      services.left.add(uuid, () => undoAgain(progress));
    }
  }
  if (taken) {
    return;
  }
  await addFault(services, uuid, error);
  throw error;
}

/** If another request has taken the instance, it owns the guest as well; the guest of a deleted instance is reaped. */
async function undoAgain(progress: UnshelveProgress): Promise<void> {
  const { services, request, instance } = progress;
  const { conductor, host } = services;
  const now = await conductor.call("instance_get", { uuid: instance.uuid });
  const isOurs = now?.host === host || (now?.host === null && progress.claim === null);
  if (isOurs && holdsTask(now, request.requestId, ["spawning"])) {
    await removeGuest(progress);
    await takeOff(progress, false);
  }
}

async function removeGuest({ services, instance, spawned }: UnshelveProgress): Promise<void> {
  if (spawned) {
    await services.driver.destroy(instance, await destroyOptions(services, instance, true));
    await services.volumes.reserveAgain(instance);
  }
}

/**
 * Removes the allocations first, then changes the row, so that it appears shelved only without allocations: nothing
 * would find allocations of a server without a host. If the instance is being deleted, its task_state and host stay.
 * Without the host, no agent would run the delete if this one died first.
 */
async function takeOff({ services, request, instance, claim }: UnshelveProgress, taken: boolean): Promise<void> {
  const { uuid } = instance;
  const now = taken ? await services.conductor.call("instance_get", { uuid }) : null;
  if (now?.taskState === "deleting" && now.host === services.host) {
    return;
  }
  const released = await releaseAllocations(services, uuid, { force: true, requestId: request.requestId });
  if (!(released || taken)) {
    throw createAllocationError("AllocationDeleteFailed", uuid, "Placement cannot be reached");
  }
  const nowhere = { launchedOn: null, availabilityZone: null } as const;
  const tasks = { expectedTaskState: ["unshelving", "spawning"] } as const;
  if (claim) {
    await claim.abort(taken ? { instance: nowhere } : { instance: { ...nowhere, taskState: null }, ...tasks });
  } else if (!taken) {
    // A failed claim may not have been able to revert its writes.
    const changes = { ...UNPLACED, ...nowhere, taskState: null };
    await services.conductor.call("instance_save", { uuid, changes, ...tasks, ofRequest: request.requestId });
  }
}

function withoutShelvedMark(instance: Instance): Readonly<Record<string, string>> {
  const { shelved_at: _at, shelved_image_id: _image, shelved_host: _host, ...rest } = instance.systemMetadata;
  return rest;
}
