import { type Instance, type Migration, POWER_STATES, type TaskState } from "../../../records/index.js";
import { InstanceExists } from "../../../virt/errors.js";
import type { Allocations } from "../../../virt/types.js";
import type { AdmissionRejection } from "../flow/admission.js";
import type { Call, OperationServices } from "../flow/contract.js";
import { assertServable, claimInGroup, OperationError } from "../flow/destination-checks.js";
import { attempt, mustNotUndo, withActionEvent } from "../flow/error-wrappers.js";
import { spawnOptions } from "../flow/guest-options.js";
import { onTree } from "../flow/move-allocations.js";
import { castSetAsideGoes, mayBeSetAside, setAsideMove, withoutSetAside } from "../flow/other-moves.js";
import type { Move } from "../flow/release-allocations.js";
import { moveFlow, runSteps, stepList } from "../flow/step-list.js";
import { removeArrived } from "../live-migration/destination.js";
import { driverData } from "../live-migration/migration-flow.js";
import { type EvacuationProgress, evacuationFailed } from "./evacuate-failure.js";

interface RunningEvacuation extends EvacuationProgress {
  /** The instance's allocations, including those on the source's providers. */
  held: Allocations;
}

type EvacuationMessage = Pick<EvacuationProgress, "services" | "request"> & { readonly move: Move };

const STEPS = stepList<RunningEvacuation>("evacuate_instance", {
  claim: async (progress) => {
    const { services, request, instance, migration } = progress;
    const { node, requestId } = request;
    assertServable(request);
    const held = await services.placement.getAllocationsForConsumer(instance.uuid, { requestId });
    progress.held = held.allocations;
    await claimInGroup(services, "evacuation", request, async () => {
      progress.claim = await services.tracker.rebuildClaim(instance, node, migration, held.allocations, requestId);
    });
    progress.phase = "spawning";
  },
  probe: async (progress) => {
    progress.diskReused = await probe(progress);
  },
  spawn: async (progress) => {
    const { services, request } = progress;
    const node = services.tracker.nodes().get(request.node);
    const allocations = await onTree(services, progress.held, node, { requestId: request.requestId });
    await spawn(progress, allocations);
  },
  record: finish,
});

/** Spec 6.7, rows 3 to 6: the destination's part of an evacuation. */
export const EVACUATE_INSTANCE = moveFlow<"evacuate_instance">({ steps: [STEPS], run: evacuate, onRejected });

/** @throws the error, unless the instance was deleted or taken over meanwhile: then the event also succeeds */
async function evacuate(message: EvacuationMessage, { event }: Call<"evacuate_instance">): Promise<void> {
  const progress = notBegun(message);
  const { services } = progress;
  await withActionEvent(services, event, async () => {
    try {
      await runSteps(services, STEPS, progress);
      await letGoOfSetAside(progress);
    } catch (error) {
      // Another agent may be acting for the host: leave everything as after a crash.
      if (mustNotUndo(error)) {
        throw error;
      }
      await evacuationFailed(progress, error);
    }
  });
}

/** Another request owns the instance: the scheduler's claim here is removed. */
async function onRejected(message: EvacuationMessage, { kind, error }: AdmissionRejection): Promise<void> {
  if (kind !== "ended") {
    await evacuationFailed(notBegun(message), error);
  }
}

function notBegun({ services, request, move }: EvacuationMessage): RunningEvacuation {
  const begun = { claim: null, phase: "claiming", diskReused: false, spawned: false } as const;
  return { services, request, ...move, held: {}, ...begun };
}

/**
 * Row 4: checks whether the guest can be created here, and whether its disk is already here. Leftovers of a move that
 * the evacuation ended would be in the way. They may contain the only guest, so they are removed after all other
 * checks. Leftovers of an earlier evacuation to this host are removed first, which ends that evacuation.
 * @throws InstanceRecreateNotSupported, {@link InstanceExists}, InvalidSharedStorage
 */
async function probe({ services, request: { onSharedStorage }, instance }: EvacuationProgress): Promise<boolean> {
  const { driver, host } = services;
  if (!driver.capabilities.supportsEvacuate) {
    throw new OperationError(
      "InstanceRecreateNotSupported",
      `driver ${driver.name} of host ${host} cannot take evacuated instances: its capabilities do not say supportsEvacuate`,
    );
  }
  await services.left.settleEvacuated(instance.uuid);
  const left = await leftHere(services, instance);
  if (left === null) {
    await assertNoGuest(services, instance);
  }
  const onDisk = await driver.instanceOnDisk(instance);
  if (onSharedStorage !== null && onSharedStorage !== onDisk) {
    throw new OperationError(
      "InvalidSharedStorage",
      `the request says that storage of instance ${instance.uuid} is ${onSharedStorage ? "" : "not "}shared, but its ` +
        `files are ${onDisk ? "" : "not "}on host ${host}: leave onSharedStorage out (API 2.14), or correct it`,
    );
  }
  if (left !== null) {
    await clearSetAside(services, instance, left);
    await assertNoGuest(services, instance);
  }
  return onDisk;
}

/** @throws InstanceExists */
async function assertNoGuest({ driver, host }: OperationServices, instance: Instance): Promise<void> {
  if (await driver.instanceExists(instance)) {
    throw new InstanceExists(
      `a guest of instance ${instance.uuid} is on host ${host} already: find out who started it before evacuating to here`,
    );
  }
}

/** Returns the move that the evacuation ended, if its leftovers are on this host. */
async function leftHere(services: OperationServices, instance: Instance): Promise<Migration | null> {
  const move = await setAsideMove(services, instance);
  const where = move?.migrationType === "live-migration" ? move.destCompute : move?.sourceCompute;
  return where === services.host ? move : null;
}

/** @throws InstanceExists: a cold move left its guest shut off, and it was started since */
async function clearSetAside(services: OperationServices, instance: Instance, move: Migration): Promise<void> {
  if (move.migrationType === "live-migration") {
    const data = driverData({ sharedInstanceFiles: true });
    await removeArrived(services, { instance, migration: move, data, destroyDisks: false, guestGoes: true });
    return;
  }
  const { driver } = services;
  if ((await driver.instanceExists(instance)) && (await driver.powerState(instance)) === POWER_STATES.running) {
    await assertNoGuest(services, instance);
  }
  await driver.confirmMigration(move, instance, { network: [] });
}

/** Rows 4 and 5. The guest stays shut down if it was before, or if the request requires it. */
async function spawn(progress: EvacuationProgress, allocations: Allocations): Promise<void> {
  const { services, request, instance } = progress;
  const { conductor, driver } = services;
  const advance = (taskState: TaskState, from: TaskState) =>
    conductor.call("instance_save", {
      uuid: instance.uuid,
      changes: { taskState },
      expectedTaskState: [from],
      ofRequest: request.requestId,
    });
  // The source is dead, so its attachments are replaced without it.
  await services.volumes.reserveAgain(instance);
  if (mayBeSetAside(instance)) {
    // A move that the evacuation has ended may have attached the volumes to two hosts.
    await services.volumes.dropOthers(instance);
  }
  await advance("rebuild_block_device_mapping", "rebuilding");
  const blockDevices = await services.volumes.connect(instance);
  const spawning = await advance("rebuild_spawning", "rebuild_block_device_mapping");
  progress.spawned = true;
  const options = { blockDevices, image: request.imageRef, powerOn: !staysStopped(progress) };
  await driver.spawn(spawning, spawnOptions(spawning, allocations, options));
}

function staysStopped({ request, instance: { vmState } }: EvacuationProgress): boolean {
  return vmState === "stopped" || (request.targetStopped && vmState !== "error");
}

/** Row 6; host, state and status in one write (spec V28). */
async function finish(progress: EvacuationProgress): Promise<void> {
  const { services, request, instance, migration } = progress;
  const { driver, runtime, tracker } = services;
  const powerState = await driver.powerState(instance);
  const vmState = staysStopped(progress) ? "stopped" : "active";
  const changes = { vmState, taskState: null, powerState, launchedAt: runtime.clock.now() } as const;
  await tracker.finishEvacuation(instance, request.node, migration, changes, {
    taskState: ["rebuild_spawning"],
    ofRequest: request.requestId,
  });
}

/** Removes a move's leftovers on other hosts, once the guest is here. The next start repeats a failure. */
async function letGoOfSetAside({ services, request, instance }: EvacuationProgress): Promise<void> {
  if (!mayBeSetAside(instance)) {
    return;
  }
  await attempt(services, instance.uuid, "remove the leftovers of a move", async () => {
    const move = await setAsideMove(services, instance);
    if (move !== null) {
      await castSetAsideGoes(services, move, request.requestId);
    }
    await services.conductor.call("instance_save", {
      uuid: instance.uuid,
      changes: withoutSetAside(instance),
      expectedTaskState: [null],
      expectedHost: services.host,
    });
  });
}
