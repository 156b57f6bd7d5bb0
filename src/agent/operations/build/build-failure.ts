import { isConductorError } from "../../../conductor-client/errors.js";
import type { Instance, InstanceChanges, RetryInfo, TaskState } from "../../../records/index.js";
import { publicMessageOf } from "../../../runtime/error-messages.js";
import { BuildAbortException } from "../../../virt/errors.js";
import { ignore } from "../../ignore-errors.js";
import { type Claim, UNPLACED } from "../../tracker/contract.js";
import type { OperationServices, RequestOf } from "../flow/contract.js";
import { OperationError } from "../flow/destination-checks.js";
import { addFault, attempt } from "../flow/error-wrappers.js";
import { destroyOptions } from "../flow/guest-options.js";
import { releaseAllocations } from "../flow/release-allocations.js";

/** The progress of a build, which determines what a failure must undo. */
export interface BuildProgress {
  readonly services: OperationServices;
  readonly request: RequestOf<"build_and_run_instance">;
  instance: Instance;
  claim: Claim | null;
  /** The driver was called to prepare or to spawn. */
  driverCalled: boolean;
}

/** The consequence of an error during a build (spec 6.1, second table). */
type BuildFailureKind = "reschedule" | "abort" | "gone";

/** A build that is not rescheduled to another host. */
export interface FailedBuild {
  readonly error: unknown;
}

/** Errors that would recur on any other host, by their names in OpenStack. */
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
  if (isConductorError(error, "InstanceNotFound", "UnexpectedDeletingTaskState")) {
    return "gone";
  }
  // Not deleted: a user has reset its state, and must learn about the failed build.
  if (isConductorError(error, "UnexpectedTaskState")) {
    return "abort";
  }
  return error instanceof Error && HOPELESS.has(error.name) ? "abort" : "reschedule";
}

/**
 * Undoes a failed build and decides what happens to the instance: rescheduled, set to error, or dropped because it was
 * deleted meanwhile.
 * @returns the error; null: the build was rescheduled, or the instance is gone
 */
export async function buildFailed(progress: BuildProgress, cause: unknown): Promise<FailedBuild | null> {
  const { services, request } = progress;
  const { instanceUuid, node, retry } = request;
  const error = (await cleanUpGuest(progress, cause)) ?? cause;
  const guestStays = error !== cause;
  const now = await services.conductor.call("instance_get", { uuid: instanceUuid });
  const kind = now === null || now.taskState === "deleting" ? "gone" : classifyBuildFailure(error);
  services.logger.warn("build failed", { instance: instanceUuid, node, kind, err: cause });
  // The instance is being deleted. The driver may have reported that as an error of its own; no other host is tried.
  if (now === null || kind === "gone") {
    await forget(progress);
    return null;
  }
  if (!(error instanceof OperationError && error.code === "GroupAffinityViolation")) {
    services.tracker.noteBuild(node, "failed");
  }
  const found = { ...progress, instance: now };
  if (guestStays) {
    return keepHere(found, error);
  }
  return kind === "abort" || !retry ? setError(found, error) : reschedule(found, retry, error);
}

/** Removes the guest first. If that fails the build is aborted, as the guest may still run here. */
async function cleanUpGuest(
  { services, instance, driverCalled }: BuildProgress,
  cause: unknown,
): Promise<Error | null> {
  if (!driverCalled) {
    return null;
  }
  try {
    await removeGuest(services, instance);
    return null;
  } catch (error) {
    services.logger.error("could not remove the leftovers of a failed build; retrying later", {
      instance: instance.uuid,
      err: error,
    });
    const message = `could not remove the leftovers of the failed build: ${publicMessageOf(error)} (after: ${publicMessageOf(cause)})`;
    return new BuildAbortException(message, {
      cause: new AggregateError([cause, error], "the build and its clean-up failed"),
    });
  }
}

async function removeGuest(services: OperationServices, instance: Instance): Promise<void> {
  const { driver } = services;
  await driver.destroy(instance, await destroyOptions(services, instance, true));
  await driver.unplugVifs(instance);
  await driver.failedSpawnCleanup(instance);
}

/**
 * Handles an instance that was deleted meanwhile. Its state belongs to the delete, which waits for the lock and
 * releases everything. The delete must find the instance on this host: if this agent took it off the host and died, no
 * agent would delete it.
 */
async function forget(progress: BuildProgress): Promise<void> {
  const { services, request } = progress;
  const { instanceUuid: uuid, requestId } = request;
  const instance = await services.conductor.call("instance_get", { uuid });
  if (instance?.host === services.host) {
    return;
  }
  await unplace(progress, {});
  await releaseAllocations(services, uuid, { force: true, requestId });
}

/**
 * As after a crash (spec 2.6 row 4), the guest may still be here. The instance and its allocations therefore stay until
 * the guest is gone: its user deletes it, or a later attempt removes the guest. Upstream takes the instance off the
 * host.
 */
async function keepHere(progress: BuildProgress, error: unknown): Promise<FailedBuild> {
  const { services, instance } = progress;
  services.left.add(instance.uuid, () => removeLeft(progress));
  await addFault(services, instance.uuid, error);
  await attempt(services, instance.uuid, "set the instance to error", () =>
    // A delete that has arrived since waits for the lock, and must find its task_state.
    services.tracker.saveInstance(instance, { vmState: "error", taskState: null }, [instance.taskState]),
  );
  return { error };
}

/** Removes the leftover guest, unless the instance was started, deleted or reset since: then it may be in use. */
async function removeLeft(progress: BuildProgress): Promise<void> {
  const { services, request } = progress;
  const { instanceUuid: uuid, requestId } = request;
  const instance = await services.conductor.call("instance_get", { uuid });
  const isAsLeft = instance?.vmState === "error" && instance.taskState === null && instance.launchedAt === null;
  if (!isAsLeft || instance.host !== services.host) {
    return;
  }
  await removeGuest(services, instance);
  await services.volumes.undoBuild(instance, { deletesVolumes: true });
  const failed = { vmState: "error", taskState: null } as const;
  if (await takeOffHost({ ...progress, instance }, failed, [null])) {
    await releaseAllocations(services, uuid, { force: true, requestId });
    services.logger.warn("removed the leftovers of a failed build", { instance: uuid, request_id: requestId });
  }
}

/** @param progress with the instance as last read; if a delete has taken it since, the delete handles it */
async function setError(progress: BuildProgress, error: unknown): Promise<FailedBuild> {
  const { services, request, instance } = progress;
  const { instanceUuid, requestId } = request;
  // Saved before the state: a user who sees the error can read the reason.
  await addFault(services, instanceUuid, error);
  await undoVolumes(progress, { deletesVolumes: true });
  if (await unplace(progress, { vmState: "error", taskState: null }, [instance.taskState])) {
    await releaseAllocations(services, instanceUuid, { force: true, requestId });
  } else {
    await forget(progress);
  }
  return { error };
}

/**
 * The allocations are removed before the message is sent, so that the next host's claim does not find them (spec V25).
 * If the agent dies in between, the next start finds the instance only by `launched_on` (2.7), which the message
 * clears.
 */
async function reschedule(progress: BuildProgress, retry: RetryInfo, error: unknown): Promise<FailedBuild | null> {
  const { services, request, instance } = progress;
  const { instanceUuid, alternates, requestId } = request;
  const { host: launchedOn, conductor } = services;
  // The instance may have been in error during the build.
  await undoVolumes(progress, { deletesVolumes: false });
  const again = { vmState: "building", taskState: "scheduling", taskRequestId: requestId, launchedOn } as const;
  if (!(await unplace(progress, again, [instance.taskState]))) {
    await forget(progress);
    return null;
  }
  if (!(await releaseAllocations(services, instanceUuid, { force: true, requestId }))) {
    return setError({ ...progress, instance: { ...instance, taskState: again.taskState }, claim: null }, error);
  }
  const reason = publicMessageOf(error);
  await conductor.call("build_instances", { instanceUuid, alternates: [...alternates], retry, reason, requestId });
  return null;
}

/** Takes back the connections of this host, before the instance leaves it. */
async function undoVolumes(
  { services, instance }: BuildProgress,
  options: { readonly deletesVolumes: boolean },
): Promise<void> {
  await attempt(services, instance.uuid, "take back the volumes of the failed build", () =>
    services.volumes.undoBuild(instance, options),
  );
}

/** Returns false if the task_state has changed meanwhile, so that nothing was written. Logs other errors. */
async function unplace(
  progress: BuildProgress,
  changes: InstanceChanges,
  expectedTaskState?: (TaskState | null)[],
): Promise<boolean> {
  let written = true;
  await attempt(progress.services, progress.instance.uuid, "take the instance off the host", async () => {
    written = await takeOffHost(progress, changes, expectedTaskState);
  });
  return written;
}

/** @returns false if the task_state has changed meanwhile, so that nothing was written */
async function takeOffHost(
  { services, claim, instance: { uuid } }: BuildProgress,
  changes: InstanceChanges,
  expectedTaskState?: (TaskState | null)[],
): Promise<boolean> {
  const unplaced = { ...UNPLACED, launchedOn: null, ...changes };
  const expected = expectedTaskState ? { expectedTaskState } : {};
  const saving = claim
    ? claim.abort({ instance: unplaced, ...expected })
    : services.conductor.call("instance_save", { uuid, changes: unplaced, ...expected });
  return (await saving.catch(ignore("UnexpectedTaskState"))) !== undefined;
}
