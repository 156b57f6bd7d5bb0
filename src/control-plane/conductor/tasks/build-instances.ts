import type { BuildRequest, Instance, RetryInfo, Selection } from "../../../records/index.js";
import { HttpError } from "../../http/http-error.js";
import type { RequestedServerPort, ServerPort, ServerPorts } from "../../network/server-ports.js";
import { operatorReason } from "../../scheduler/errors.js";
import type { Destination } from "../../scheduler/scheduler.js";
import type { Task } from "../../store/tasks.js";
import type { TaskContext } from "../task-runner.js";
import { carryOutDelete } from "./delete-instance.js";
import { addFault, endTask, isTaskError, retriesExceeded, TaskError } from "./faults.js";
import {
  CONDUCTOR_HOST,
  finishEvent,
  firstRetry,
  portRequestsOf,
  savePortAllocations,
  serverGroupOf,
  type TaskDeps,
} from "./task-deps.js";

type BuildTask = Extract<Task, { kind: "build_instances" }>;

/** Builds an instance (spec 6.1 rows 2 and 3), or tries another host after an agent could not build it. */
export function buildInstance(deps: TaskDeps, task: BuildTask, context: TaskContext): Promise<void> {
  return task.alternates === undefined
    ? scheduleAndBuild(deps, task, context)
    : reschedule(deps, task, task.alternates, context);
}

/** Row 2: claims a destination. Row 3: creates the instance and hands it to the destination in one transaction. */
async function scheduleAndBuild(deps: TaskDeps, task: BuildTask, context: TaskContext): Promise<void> {
  const { store } = deps;
  if (store.requests.buildRequest(task.instanceUuid) === null) {
    // Without a request and an instance, the user deleted the server before it was scheduled. A killed run may have
    // claimed for it.
    return store.instances.get(task.instanceUuid) === null ? release(deps, task) : undefined;
  }
  let destination: Destination;
  try {
    destination = await selectDestination(deps, task);
  } catch (error) {
    // After any error, an instance without a destination goes to cell0, where the user can read the reason.
    await release(deps, task);
    store.transaction(() => {
      buryInCell0(deps, task, error);
      context.finish();
    });
    return;
  }
  if (!(await handOver(deps, task, destination, context))) {
    await release(deps, task);
  }
}

/** Returns false if the server was deleted meanwhile. An instance whose network resources cannot be allocated goes to cell0. */
async function handOver(
  deps: TaskDeps,
  task: BuildTask,
  destination: Destination,
  context: TaskContext,
): Promise<boolean> {
  const { store } = deps;
  try {
    return store.transaction(() => {
      if (!placeInCell1(deps, task, destination)) {
        return false;
      }
      castBuild(deps, task, destination, firstAttempt(deps, task, destination.selection));
      context.finish();
      return true;
    });
  } catch (error) {
    if (!isTaskError(error, "NetworkNotAllocated")) {
      throw error;
    }
    await release(deps, task);
    store.transaction(() => {
      buryInCell0(deps, task, error);
      context.finish();
    });
    return true;
  }
}

async function selectDestination(deps: TaskDeps, task: BuildTask): Promise<Destination> {
  const { store, scheduler } = deps;
  const spec = store.requests.spec(task.instanceUuid);
  if (spec === null) {
    throw new TaskError(
      "RecordMissing",
      `the request spec of instance ${task.instanceUuid} is gone; create the server again`,
    );
  }
  return scheduler.selectDestination({
    instanceUuid: task.instanceUuid,
    spec,
    requestedHost: task.forcedHost ?? task.requestedHost,
    requestedNode: task.forcedNode ?? task.requestedNode,
    forced: task.forcedHost !== undefined || task.forcedNode !== undefined,
    portRequests: portRequestsOf(
      deps,
      task.instanceUuid,
      task.ports?.flatMap(({ port }) => port ?? []),
    ),
    // A killed run may have left its claim. An instance that builds has allocations on at most one tree.
    held: "replace",
    requestId: task.requestId,
  });
}

/** Returns false if the user deleted the build request meanwhile. */
function placeInCell1({ store, ports }: TaskDeps, task: BuildTask, { selection }: Destination): boolean {
  const request = store.requests.buildRequest(task.instanceUuid);
  if (request === null || !store.requests.destroyBuildRequest(task.instanceUuid)) {
    return false;
  }
  const service = store.services.getByHost(selection.host, "nova-compute");
  const availabilityZone = service?.availabilityZone ?? request.instance.availabilityZone;
  createInstance(store, request, { taskRequestId: task.requestId, availabilityZone });
  attachPorts(ports, task, { ...request, availabilityZone });
  store.mappings.mapInstance(task.instanceUuid, request.projectId, "cell1");
  startCreateAction(store, task, request);
  return true;
}

/** Creates the instance in error and without a host, so that no other records of it remain. */
function buryInCell0({ store, logger }: TaskDeps, task: BuildTask, error: unknown): void {
  const request = store.requests.buildRequest(task.instanceUuid);
  if (request === null || !store.requests.destroyBuildRequest(task.instanceUuid)) {
    return;
  }
  logger.warn("instance could not be scheduled", {
    instance: task.instanceUuid,
    request_id: task.requestId,
    reason: operatorReason(error),
  });
  createInstance(store, request, { vmState: "error", taskState: null });
  store.mappings.mapInstance(task.instanceUuid, request.projectId, "cell0");
  addFault(store, task.instanceUuid, error);
  startCreateAction(store, task, request);
  const event = store.actions.startEvent({
    instanceUuid: task.instanceUuid,
    event: "conductor_schedule_and_build_instances",
    host: CONDUCTOR_HOST,
    requestId: task.requestId,
  });
  if (event !== null) {
    finishEvent(store, event, error);
  }
}

/** Tries the alternates in order, after an agent dropped its claim and gave the build back (spec 6.1, error table). */
async function reschedule(
  deps: TaskDeps,
  task: BuildTask,
  alternates: readonly Selection[],
  context: TaskContext,
): Promise<void> {
  const { store, scheduler, config } = deps;
  const instance = store.instances.get(task.instanceUuid);
  if (instance === null || isDeleted(instance)) {
    return giveWay(deps, task, context);
  }
  const numAttempts = (task.retry?.numAttempts ?? 1) + 1;
  const { projectId, userId } = instance;
  const claim = { consumer: task.instanceUuid, projectId, userId, held: "replace" } as const;
  const exhausted = numAttempts > config.maxAttempts;
  const next = exhausted ? null : await scheduler.claimAlternate(alternates, claim, task.requestId);
  if (next === null) {
    await release(deps, task);
    store.transaction(() => {
      endExhausted(deps, task, numAttempts);
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
    castBuild(deps, task, { selection, alternates: left }, { numAttempts, hosts });
    context.finish();
    return true;
  });
  if (!handedOver) {
    await giveWay(deps, task, context);
  }
}

/** Checks both fields: the host that gave the build back may have overwritten the task_state of an accepted delete. */
function isDeleted({ taskState, deleteRequestId }: Instance): boolean {
  return taskState === "deleting" || deleteRequestId !== null;
}

async function giveWay(deps: TaskDeps, task: BuildTask, context: TaskContext): Promise<void> {
  const { store } = deps;
  await release(deps, task);
  store.transaction(() => {
    carryOutDelete(store, store.instances.get(task.instanceUuid), task.requestId);
    context.finish();
  });
}

function endExhausted({ store, config }: TaskDeps, task: BuildTask, numAttempts: number): void {
  const { maxAttempts } = config;
  const error = retriesExceeded(task.instanceUuid, { numAttempts, maxAttempts, reason: task.reason });
  endTask(store, task, "error", error);
}

function castBuild(
  deps: TaskDeps,
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
    ...serverGroupOf(deps, instanceUuid),
    requestId,
  };
  savePortAllocations(deps, instanceUuid, selection);
  deps.bus.cast(selection.host, "build_and_run_instance", params, requestId);
}

/** Returns the retry data of the first attempt; undefined for a forced host, the only one that may build the instance. */
function firstAttempt(deps: TaskDeps, task: BuildTask, selection: Selection): RetryInfo | undefined {
  const forced = task.forcedHost !== undefined || task.forcedNode !== undefined;
  return forced ? undefined : firstRetry(deps, selection);
}

function createInstance(
  store: TaskDeps["store"],
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
  store.instances.create({ ...columns, ...placed });
}

/** Records the create action here, since the API has no instance yet to record it for. */
function startCreateAction(
  store: TaskDeps["store"],
  { instanceUuid, requestId }: BuildTask,
  { instance }: BuildRequest,
): void {
  const { userId, projectId } = instance;
  store.actions.start({ action: "create", instanceUuid, requestId, userId, projectId });
}

/** Removes all allocations of the instance. If Placement is unavailable, they leak and are reported by 4.6 row 3. */
async function release({ placement, scheduler }: TaskDeps, { instanceUuid, requestId }: BuildTask): Promise<void> {
  scheduler.forget(instanceUuid);
  await placement.deleteAllocation(instanceUuid, { force: true, requestId });
}

/** Sets the instance to error; without one, creates it in cell0. */
export function giveUpBuild(deps: TaskDeps, task: BuildTask, error: unknown): void {
  if (deps.store.instances.get(task.instanceUuid) === null) {
    buryInCell0(deps, task, error);
  } else {
    endTask(deps.store, task, "error", error);
  }
}

/**
 * Attaches the requested ports to the instance, in the transaction that creates it. They are bound when a host claims it.
 * @throws {TaskError} `NetworkNotAllocated` if a port, address or group was taken or removed after the request was accepted
 */
function attachPorts(
  ports: ServerPorts,
  { instanceUuid, ports: requested = [], securityGroups = [] }: BuildTask,
  { projectId, instance, availabilityZone }: BuildRequest & Pick<Instance, "availabilityZone">,
): void {
  if (requested.length === 0) {
    return;
  }
  const foreign = requested.find(({ port }) => port !== undefined && !isOfProject(ports.get(port), projectId));
  if (foreign) {
    throw networkNotAllocated(instanceUuid, `Port ${foreign.port} not usable for instance ${instanceUuid}.`);
  }
  const server = { uuid: instanceUuid, projectId, host: null, availabilityZone, hostname: instance.hostname };
  try {
    const ids = ports.attach(
      server,
      requested.map((request) => withNetwork(ports, projectId, request)),
      securityGroups,
    );
    assertNoRequest(
      ports,
      instanceUuid,
      ids.filter((_, index) => requested[index]?.port === undefined),
    );
  } catch (error) {
    throw error instanceof HttpError ? networkNotAllocated(instanceUuid, error.message) : error;
  }
}

/** New ports request nothing: the server was scheduled without them. @throws {TaskError} `NetworkNotAllocated` */
function assertNoRequest(ports: ServerPorts, instanceUuid: string, portIds: readonly string[]): void {
  if (portIds.length > 0 && ports.resourceRequests(null, portIds).size > 0) {
    throw networkNotAllocated(instanceUuid, "Failed to allocate the network(s), not rescheduling.");
  }
}

/** A missing port causes an error of its own. */
function isOfProject(port: ServerPort | undefined, projectId: string): boolean {
  return port === undefined || port.projectId === projectId;
}

/** A request that an older control plane has stored names no network: there was only one. */
function withNetwork(ports: ServerPorts, projectId: string, request: RequestedServerPort): RequestedServerPort {
  if (request.port !== undefined || request.network !== undefined) {
    return request;
  }
  const [network] = ports.networksFor(projectId);
  return network ? { ...request, network: network.id } : request;
}

function networkNotAllocated(instanceUuid: string, reason: string): TaskError {
  return new TaskError("NetworkNotAllocated", `Build of instance ${instanceUuid} aborted: ${reason}`);
}
