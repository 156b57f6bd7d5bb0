import {
  InstanceNotFound,
  UnexpectedDeletingTaskState,
  UnexpectedTaskState,
} from "../../../conductor-client/errors.js";
import type { Instance, InstanceChanges, RetryInfo, TaskState } from "../../../records/index.js";
import { publicMessageOf } from "../../../runtime/error-messages.js";
import { BuildAbortException } from "../../../virt/errors.js";
import { type Claim, UNPLACED } from "../../tracker/contract.js";
import type { OperationServices, RequestOf } from "../flow/contract.js";
import { GroupAffinityViolation } from "../flow/destination-checks.js";
import { addFault, attempt } from "../flow/error-wrappers.js";
import { destroyOptions } from "../flow/guest-options.js";
import { releaseAllocations } from "../flow/release-allocations.js";

/** How far a build came, for what has to be undone. */
export interface BuildProgress {
  instance: Instance;
  claim: Claim | null;
  /** The driver was asked to prepare, or to spawn. */
  driverCalled: boolean;
}

type Request = RequestOf<"build_and_run_instance">;

/** What an error of a build leads to (spec 6.1, second table). */
type BuildFailureKind = "reschedule" | "abort" | "gone";

/** A build that no other host is asked for. */
export interface FailedBuild {
  readonly error: unknown;
}

/** Errors that no other host would spare the instance, by their names in OpenStack. */
const HOPELESS: ReadonlySet<string> = new Set([
  "BuildAbortException",
  "FlavorDiskTooSmall",
  "FlavorMemoryTooSmall",
  "ImageNotActive",
  "ImageUnacceptable",
  "InvalidDiskInfo",
  "InvalidDiskFormat",
  "InvalidInput",
  "InvalidBDM",
  "NoMoreNetworks",
  "NoMoreFixedIps",
]);

function classifyBuildFailure(error: unknown): BuildFailureKind {
  if (error instanceof InstanceNotFound || error instanceof UnexpectedDeletingTaskState) {
    return "gone";
  }
  // Not deleted: somebody has reset its state, and has to be told what became of it.
  if (error instanceof UnexpectedTaskState) {
    return "abort";
  }
  return error instanceof Error && HOPELESS.has(error.name) ? "abort" : "reschedule";
}

/**
 * Undoes a build that failed and decides what becomes of the instance: tried on another host, set to error, or forgotten
 * because it was deleted meanwhile.
 * @returns the error; null: the build was handed back, or nobody wants it any more.
 */
export async function buildFailed(
  services: OperationServices,
  request: Request,
  progress: BuildProgress,
  cause: unknown,
): Promise<FailedBuild | null> {
  const { instanceUuid, node, retry } = request;
  const error = (await cleanUpGuest(services, progress, cause)) ?? cause;
  const guestStays = error !== cause;
  const now = await services.context.conductor.call("instance_get", { uuid: instanceUuid });
  const kind = now === null || now.taskState === "deleting" ? "gone" : classifyBuildFailure(error);
  services.context.runtime.logger.warn("build failed", { instance: instanceUuid, node, kind, err: cause });
  // Somebody deletes it: a driver that noticed says so in its own words, and no other host is to be tried.
  if (now === null || kind === "gone") {
    await forget(services, request, progress);
    return null;
  }
  if (!(error instanceof GroupAffinityViolation)) {
    services.tracker.noteBuild(node, "failed");
  }
  const found = { ...progress, instance: now };
  if (guestStays) {
    return keepHere(services, request, found, error);
  }
  if (kind === "abort" || !retry) {
    return setError(services, request, found, error);
  }
  return reschedule(services, { ...request, retry }, found, error);
}

/** The guest first; a clean-up that fails makes the build hopeless, as the guest may still run here. */
async function cleanUpGuest(
  { context }: OperationServices,
  { instance, driverCalled }: BuildProgress,
  cause: unknown,
): Promise<Error | null> {
  if (!driverCalled) {
    return null;
  }
  try {
    await removeGuest(context, instance);
    return null;
  } catch (error) {
    context.runtime.logger.error("what a failed build left behind could not be removed; it is tried again", {
      instance: instance.uuid,
      err: error,
    });
    const message = `what a failed build left behind could not be removed: ${publicMessageOf(error)} (after: ${publicMessageOf(cause)})`;
    return new BuildAbortException(message, {
      cause: new AggregateError([cause, error], "the build and its clean-up failed"),
    });
  }
}

async function removeGuest({ driver }: OperationServices["context"], instance: Instance): Promise<void> {
  await driver.destroy(instance, destroyOptions(true));
  await driver.unplugVifs(instance);
  await driver.failedSpawnCleanup(instance);
}

/**
 * Deleted meanwhile: its state belongs to the delete, which waits for the lock and gives everything back. It must find the
 * instance here: taken off the host, it would be nobody's if this agent died before the delete has its turn.
 */
async function forget(services: OperationServices, request: Request, progress: BuildProgress): Promise<void> {
  const { instanceUuid: uuid, requestId } = request;
  const instance = await services.context.conductor.call("instance_get", { uuid });
  if (instance?.host === services.context.host) {
    return;
  }
  await unplace(services, progress, {});
  await releaseAllocations(services, uuid, { force: true, requestId });
}

/**
 * As after a crash (spec 2.6 row 4): the guest may be here, so that the instance stays, with what it holds, until its guest is gone:
 * its user deletes it, or a later attempt removes the guest. Upstream takes the instance off the host.
 */
async function keepHere(
  services: OperationServices,
  request: Request,
  progress: BuildProgress,
  error: unknown,
): Promise<FailedBuild> {
  const { context, tracker, left } = services;
  const { instance } = progress;
  left.add(instance.uuid, () => removeLeft(services, request, progress));
  await addFault(context, instance.uuid, error);
  await attempt(context, instance.uuid, "set the instance to error", () =>
    // A delete that has come since waits for the lock, and must find its task_state.
    tracker.saveInstance(instance, { vmState: "error", taskState: null }, [instance.taskState]),
  );
  return { error };
}

/** An instance that has been started, deleted or reset since has its guest, if any, by a later request. */
async function removeLeft(services: OperationServices, request: Request, progress: BuildProgress): Promise<void> {
  const { context } = services;
  const { instanceUuid: uuid, requestId } = request;
  const instance = await context.conductor.call("instance_get", { uuid });
  const isAsLeft = instance?.vmState === "error" && instance.taskState === null && instance.launchedAt === null;
  if (!isAsLeft || instance.host !== context.host) {
    return;
  }
  await removeGuest(context, instance);
  const failed = { vmState: "error", taskState: null } as const;
  if (await takeOffHost(services, { ...progress, instance }, failed, [null])) {
    await releaseAllocations(services, uuid, { force: true, requestId });
    context.runtime.logger.warn("removed what a failed build had left here", { instance: uuid, request_id: requestId });
  }
}

/** @param progress with the instance as it was found last: one that a delete has taken since is left to that */
async function setError(
  services: OperationServices,
  request: Request,
  progress: BuildProgress,
  error: unknown,
): Promise<FailedBuild> {
  const { instanceUuid, requestId } = request;
  // Before the state: who sees the error can read why.
  await addFault(services.context, instanceUuid, error);
  if (await unplace(services, progress, { vmState: "error", taskState: null }, [progress.instance.taskState])) {
    await releaseAllocations(services, instanceUuid, { force: true, requestId });
  } else {
    await forget(services, request, progress);
  }
  return { error };
}

/**
 * The allocations go before the message, so that the next host's claim does not find them (spec V25). In between the next start
 * finds it by `launched_on` alone (2.7), which the message clears.
 */
async function reschedule(
  services: OperationServices,
  request: Request & { readonly retry: RetryInfo },
  progress: BuildProgress,
  error: unknown,
): Promise<FailedBuild | null> {
  const { instanceUuid, alternates, retry, requestId } = request;
  const { host: launchedOn } = services.context;
  // It may have been in error for how long it took.
  const again = { vmState: "building", taskState: "scheduling", taskRequestId: requestId, launchedOn } as const;
  if (!(await unplace(services, progress, again, [progress.instance.taskState]))) {
    await forget(services, request, progress);
    return null;
  }
  if (!(await releaseAllocations(services, instanceUuid, { force: true, requestId }))) {
    const instance = { ...progress.instance, taskState: again.taskState };
    return setError(services, request, { ...progress, instance, claim: null }, error);
  }
  await services.context.conductor.call("build_instances", {
    instanceUuid,
    alternates: [...alternates],
    retry,
    reason: publicMessageOf(error),
    requestId,
  });
  return null;
}

/** False: the task_state is another by now, so that nothing was written. Logs other errors. */
async function unplace(
  services: OperationServices,
  progress: BuildProgress,
  changes: InstanceChanges,
  expectedTaskState?: (TaskState | null)[],
): Promise<boolean> {
  let written = true;
  await attempt(services.context, progress.instance.uuid, "take the instance off the host", async () => {
    written = await takeOffHost(services, progress, changes, expectedTaskState);
  });
  return written;
}

/** @returns false: the task_state is another by now, so that nothing was written */
async function takeOffHost(
  { context }: OperationServices,
  { claim, instance: { uuid } }: BuildProgress,
  changes: InstanceChanges,
  expectedTaskState?: (TaskState | null)[],
): Promise<boolean> {
  const unplaced = { ...UNPLACED, launchedOn: null, ...changes };
  const expected = expectedTaskState ? { expectedTaskState } : {};
  try {
    if (claim) {
      await claim.abort({ instance: unplaced, ...expected });
    } else {
      await context.conductor.call("instance_save", { uuid, changes: unplaced, ...expected });
    }
    return true;
  } catch (error) {
    if (!(error instanceof UnexpectedTaskState)) {
      throw error;
    }
    return false;
  }
}
