import { UnexpectedTaskState } from "../../../conductor/errors.js";
import type { Instance, InstanceChanges } from "../../../records/index.js";
import type { Allocations } from "../../../virt/types.js";
import { LOCAL_DISKS } from "../../block-devices.js";
import type { Claim } from "../../tracker/contract.js";
import type { Refusal } from "../admission/admission.js";
import { addFault, attempt, mustNotUndo, withActionEvent } from "../flow/error-wrappers.js";
import { destroyOptions, imageMeta } from "../flow/guest-options.js";
import { runSteps, stepList } from "../flow/step-list.js";
import { type OperationParts, releaseAllocations } from "../parts.js";

export interface UnshelveRequest {
  readonly instanceUuid: string;
  /** What the instance holds in Placement. */
  readonly allocations: Allocations;
  /** The node that was claimed. */
  readonly node: string;
  readonly requestId: string;
}

interface UnshelveProgress {
  readonly parts: OperationParts;
  readonly request: UnshelveRequest;
  instance: Instance;
  claim: Claim | null;
  /** The driver was asked to make the guest. */
  spawned: boolean;
}

/** Spec 6.6 "unshelve from offloaded", on the destination. */
export const UNSHELVE_INSTANCE = stepList<UnshelveProgress>("unshelve_instance", {
  accept: async (progress) => {
    const { parts, instance } = progress;
    progress.instance = await parts.context.conductor.call("instance_save", {
      uuid: instance.uuid,
      changes: { taskState: "spawning" },
      expectedTaskState: ["unshelving"],
      expectedVmState: ["shelved_offloaded"],
    });
  },
  claim: async (progress) => {
    const { node, allocations, requestId } = progress.request;
    progress.claim = await progress.parts.tracker.instanceClaim(progress.instance, node, allocations, requestId);
    progress.instance = progress.claim.instance;
  },
  spawn: async (progress) => {
    const { parts, instance, request } = progress;
    progress.spawned = true;
    await parts.context.driver.spawn(instance, {
      image: imageMeta(instance, instance.systemMetadata.shelved_image_id ?? instance.imageRef),
      allocations: request.allocations,
      network: [],
      blockDevices: LOCAL_DISKS,
      powerOn: true,
    });
  },
  record: async (progress) => {
    const { parts, instance } = progress;
    const { driver, runtime } = parts.context;
    const changes: InstanceChanges = {
      vmState: "active",
      taskState: null,
      powerState: await driver.powerState(instance),
      launchedAt: runtime.clock.now(),
      systemMetadata: withoutShelvedMark(instance),
    };
    progress.instance = await parts.tracker.saveInstance(instance, changes, ["spawning"]);
  },
});

/** @throws the error; the instance is then offloaded as before, and holds nothing. */
export async function unshelveInstance(
  parts: OperationParts,
  request: UnshelveRequest,
  instance: Instance,
): Promise<void> {
  const { instanceUuid, requestId } = request;
  const progress: UnshelveProgress = { parts, request, instance, claim: null, spawned: false };
  await withActionEvent(
    parts.context,
    { instanceUuid, requestId, event: "compute_unshelve_instance" },
    async (event) => {
      try {
        await runSteps(parts, UNSHELVE_INSTANCE, progress);
      } catch (error) {
        if (mustNotUndo(error)) {
          throw error;
        }
        event.fail(error);
        await unshelveFailed(progress, error);
      }
    },
  );
}

/** What was claimed for it goes, unless a host or another request to unshelve it may own that by now. */
export async function unshelveRefused(
  parts: OperationParts,
  { instanceUuid, requestId }: UnshelveRequest,
  { kind, found }: Refusal,
): Promise<void> {
  const owned = found !== null && found.instance.deleted === 0 && found.instance.host !== null;
  const contested = kind === "taken" && found?.instance.taskState !== "deleting";
  if (!owned && !contested) {
    await releaseAllocations(parts, instanceUuid, { force: true, requestId });
  }
}

/** Guest, allocations, then the row, so that it looks shelved only when it holds nothing. */
async function unshelveFailed(progress: UnshelveProgress, error: unknown): Promise<void> {
  const { parts, request, instance, claim, spawned } = progress;
  const { context } = parts;
  const { uuid } = instance;
  if (spawned) {
    await attempt(context, uuid, "remove the guest of the failed unshelve", () =>
      context.driver.destroy(instance, destroyOptions(true)),
    );
  }
  await releaseAllocations(parts, uuid, { force: true, requestId: request.requestId });
  // One that is being deleted keeps its task state.
  const taken = error instanceof UnexpectedTaskState;
  const changes: InstanceChanges = { launchedOn: null, availabilityZone: null, ...(taken ? {} : { taskState: null }) };
  await attempt(context, uuid, "take the instance off the host", async () => {
    if (claim) {
      await claim.abort({ instance: changes });
    } else if (!taken) {
      await context.conductor.call("instance_save", { uuid, changes });
    }
  });
  if (taken) {
    return;
  }
  await addFault(context, uuid, error);
  throw error;
}

function withoutShelvedMark(instance: Instance): Readonly<Record<string, string>> {
  const { shelved_at: _at, shelved_image_id: _image, shelved_host: _host, ...rest } = instance.systemMetadata;
  return rest;
}
