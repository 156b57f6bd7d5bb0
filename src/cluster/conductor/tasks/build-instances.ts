import type { BuildRequest, Instance, RetryInfo, Selection } from "../../../records/index.js";
import { claimSelection } from "../../scheduler/claim.js";
import type { Destination } from "../../scheduler/scheduler.js";
import type { Task } from "../../store/task.js";
import type { TaskContext } from "../task-runner.js";
import { carryOutDelete } from "./acknowledged-delete.js";
import { finishEvent } from "./action-event.js";
import { addFault, endOperation, messageOf, RecordMissing, retriesExceeded } from "./faults.js";
import { firstRetry } from "./first-retry.js";
import { CONDUCTOR_HOST, type TaskParts } from "./task-parts.js";

type BuildTask = Extract<Task, { kind: "build_instances" }>;

/** A new build (spec 6.1 rows 2 and 3), or another try after an agent could not build it. */
export function createBuildInstances(parts: TaskParts) {
  return {
    run: (task: BuildTask, context: TaskContext): Promise<void> =>
      task.alternates === undefined
        ? scheduleAndBuild(parts, task, context)
        : reschedule(parts, task, task.alternates, context),
    fail: (task: BuildTask, error: unknown): void => giveUp(parts, task, error),
  };
}

/** Row 2: claim a destination. Row 3: make the instance and hand it to the destination, all in one transaction. */
async function scheduleAndBuild(parts: TaskParts, task: BuildTask, context: TaskContext): Promise<void> {
  const { store } = parts;
  if (store.requests.buildRequest(task.instanceUuid) === null) {
    // The user deleted it before it was placed; a run that was killed may have claimed for it. With a row it was placed.
    return store.instances.get(task.instanceUuid) === null ? release(parts, task) : undefined;
  }
  let destination: Destination;
  try {
    destination = await selectDestination(parts, task);
  } catch (error) {
    // Whatever it is: without a destination the instance ends in cell0, where the user sees why.
    await release(parts, task);
    store.transaction(() => {
      buryInCell0(parts, task, error);
      context.finish();
    });
    return;
  }
  const handedOver = store.transaction(() => {
    if (!placeInCell1(parts, task, destination)) {
      return false;
    }
    castBuild(parts, task, destination, firstAttempt(parts, task, destination.selection));
    context.finish();
    return true;
  });
  if (!handedOver) {
    await release(parts, task);
  }
}

async function selectDestination({ store, scheduler }: TaskParts, task: BuildTask): Promise<Destination> {
  const spec = store.requests.spec(task.instanceUuid);
  if (spec === null) {
    throw new RecordMissing(`the request spec of instance ${task.instanceUuid} is gone; create the server again`);
  }
  const [destination] = await scheduler.selectDestinations({
    instanceUuids: [task.instanceUuid],
    spec,
    requestedHost: task.forcedHost ?? task.requestedHost,
    requestedNode: task.forcedNode ?? task.requestedNode,
    forced: task.forcedHost !== undefined || task.forcedNode !== undefined,
    // A run that was killed after its claim left one: at most one tree per building instance.
    held: "replace",
    requestId: task.requestId,
  });
  if (destination === undefined) {
    throw new RecordMissing("the scheduler answered no destination");
  }
  return destination;
}

/** False: the user deleted the build request meanwhile. */
function placeInCell1({ store }: TaskParts, task: BuildTask, { selection }: Destination): boolean {
  const request = store.requests.buildRequest(task.instanceUuid);
  if (request === null || !store.requests.destroyBuildRequest(task.instanceUuid)) {
    return false;
  }
  const service = store.services.getByHost(selection.host, "nova-compute");
  createInstance(store, request, {
    vmState: "building",
    taskState: "scheduling",
    taskRequestId: task.requestId,
    availabilityZone: service?.availabilityZone ?? request.instance.availabilityZone,
  });
  store.mappings.mapInstance(task.instanceUuid, request.projectId, "cell1");
  ensureCreateAction(store, task, request);
  return true;
}

/** The instance exists, in error, on no host; nothing of it is left elsewhere. */
function buryInCell0({ store, logger }: TaskParts, task: BuildTask, error: unknown): void {
  const request = store.requests.buildRequest(task.instanceUuid);
  if (request === null || !store.requests.destroyBuildRequest(task.instanceUuid)) {
    return;
  }
  logger.warn("instance could not be scheduled", {
    instance: task.instanceUuid,
    request_id: task.requestId,
    reason: messageOf(error),
  });
  createInstance(store, request, { vmState: "error", taskState: null });
  store.mappings.mapInstance(task.instanceUuid, request.projectId, "cell0");
  addFault(store, task.instanceUuid, error);
  ensureCreateAction(store, task, request);
  const event = store.actions.startEvent({
    instanceUuid: task.instanceUuid,
    event: "conductor_schedule_and_build_instances",
    host: CONDUCTOR_HOST,
    requestId: task.requestId,
  });
  if (event !== null) {
    finishEvent(store, event, error instanceof Error ? error : new Error(String(error)));
  }
}

/** An agent gave its claim back and cast the build here: try the alternates in order (spec 6.1, error table). */
async function reschedule(
  parts: TaskParts,
  task: BuildTask,
  alternates: readonly Selection[],
  context: TaskContext,
): Promise<void> {
  const { store, config } = parts;
  const instance = store.instances.get(task.instanceUuid);
  if (instance === null || isDeleted(instance)) {
    return giveWay(parts, task);
  }
  const numAttempts = (task.retry?.numAttempts ?? 1) + 1;
  const next = numAttempts > config.maxAttempts ? null : await claimNext(parts, instance, alternates, task);
  if (next === null) {
    await release(parts, task);
    store.transaction(() => {
      exhausted(parts, task, numAttempts);
      context.finish();
    });
    return;
  }
  const { selection, alternates: left } = next;
  const handedOver = store.transaction(() => {
    const current = store.instances.get(task.instanceUuid);
    if (current === null || isDeleted(current)) {
      return false;
    }
    const service = store.services.getByHost(selection.host, "nova-compute");
    store.instances.save(task.instanceUuid, {
      availabilityZone: service?.availabilityZone ?? current.availabilityZone,
    });
    const hosts = [...(task.retry?.hosts ?? []), [selection.host, selection.node] as const];
    castBuild(parts, task, { selection, alternates: left }, { numAttempts, hosts });
    context.finish();
    return true;
  });
  if (!handedOver) {
    await giveWay(parts, task);
  }
}

/** The host that gave the build back may have taken the task_state from a delete that was acknowledged meanwhile. */
function isDeleted({ taskState, deleteRequestId }: Instance): boolean {
  return taskState === "deleting" || deleteRequestId !== null;
}

async function giveWay(parts: TaskParts, task: BuildTask): Promise<void> {
  const { store } = parts;
  await release(parts, task);
  carryOutDelete(store, store.instances.get(task.instanceUuid), task.requestId);
}

async function claimNext(
  { placement }: TaskParts,
  { uuid, projectId, userId }: Instance,
  alternates: readonly Selection[],
  { requestId }: BuildTask,
): Promise<Destination | null> {
  const claim = { consumer: uuid, projectId, userId, held: "replace" } as const;
  for (const [index, selection] of alternates.entries()) {
    if (await claimSelection(placement, selection, claim, requestId)) {
      return { selection, alternates: alternates.slice(index + 1) };
    }
  }
  return null;
}

function exhausted({ store, config }: TaskParts, task: BuildTask, numAttempts: number): void {
  const instance = store.instances.get(task.instanceUuid);
  if (instance === null) {
    return;
  }
  const { maxAttempts } = config;
  const error = retriesExceeded(instance.uuid, { numAttempts, maxAttempts, reason: task.reason });
  endOperation(store, instance, { ...task, vmState: "error" }, error);
}

function castBuild(
  { bus }: TaskParts,
  { instanceUuid, requestId }: BuildTask,
  { selection, alternates }: Destination,
  retry: RetryInfo | undefined,
): void {
  const params = {
    instanceUuid,
    allocations: selection.allocationRequest,
    node: selection.node,
    alternates: [...alternates],
    ...(retry ? { retry } : {}),
    requestId,
  };
  bus.cast(selection.host, "build_and_run_instance", params, requestId);
}

/** A forced host is the only one that may build it. */
function firstAttempt(parts: TaskParts, task: BuildTask, selection: Selection): RetryInfo | undefined {
  const forced = task.forcedHost !== undefined || task.forcedNode !== undefined;
  return forced ? undefined : firstRetry(parts, selection);
}

function createInstance(
  store: TaskParts["store"],
  request: BuildRequest,
  placed: Partial<Pick<Instance, "vmState" | "taskState" | "taskRequestId" | "availabilityZone">>,
): void {
  const {
    id: _id,
    deleted: _deleted,
    deletedAt: _deletedAt,
    createdAt: _createdAt,
    updatedAt: _updatedAt,
    ...columns
  } = request.instance;
  store.instances.create({ ...columns, host: null, node: null, computeId: null, ...placed });
}

/** The action that the user asked for, unless the API recorded it already. */
function ensureCreateAction(
  store: TaskParts["store"],
  { instanceUuid, requestId }: BuildTask,
  { instance }: BuildRequest,
): void {
  if (store.actions.get(instanceUuid, requestId) !== null) {
    return;
  }
  const { userId, projectId } = instance;
  store.actions.start({ action: "create", instanceUuid, requestId, userId, projectId });
}

/** Whatever it holds; when Placement is away, 4.6 row 3 shows what leaked. */
async function release({ placement }: TaskParts, { instanceUuid, requestId }: BuildTask): Promise<void> {
  await placement.deleteAllocation(instanceUuid, { force: true, requestId });
}

function giveUp(parts: TaskParts, task: BuildTask, error: unknown): void {
  const instance = parts.store.instances.get(task.instanceUuid);
  if (instance !== null) {
    endOperation(parts.store, instance, { ...task, vmState: "error" }, error);
  } else {
    buryInCell0(parts, task, error);
  }
}
