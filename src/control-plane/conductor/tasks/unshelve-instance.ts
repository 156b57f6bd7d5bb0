import type { Instance } from "../../../records/index.js";
import { operatorReason } from "../../scheduler/errors.js";
import type { Destination } from "../../scheduler/scheduler.js";
import type { Task } from "../../store/tasks.js";
import type { TaskContext } from "../task-runner.js";
import { endOperation, requestSpecOf } from "./faults.js";
import { ActionEvents, portRequestsOf, savePortAllocations, serverGroupOf, type TaskDeps } from "./task-deps.js";

type UnshelveTask = Extract<Task, { kind: "unshelve_instance" }>;

/**
 * Unshelves an instance (spec 6.6): a shelved one starts on its host, an offloaded one on a host that the scheduler
 * selects.
 */
export async function unshelveInstance(deps: TaskDeps, task: UnshelveTask, taskContext: TaskContext): Promise<void> {
  const { store } = deps;
  const instance = store.instances.get(task.instanceUuid);
  if (instance === null) {
    return release(deps, task);
  }
  if (instance.vmState === "shelved") {
    startInPlace(deps, task, taskContext);
    return;
  }
  const events = new ActionEvents(store, task, "conductor_unshelve_instance", "schedule_instances");
  await events.during(taskContext, async (context) => {
    try {
      const destination = await schedule(deps, task, instance);
      if (!handOver(deps, task, destination, context)) {
        await release(deps, task);
      }
    } catch (error) {
      events.fail(error);
      await release(deps, task);
      deps.logger.warn("server could not be unshelved", {
        instance: task.instanceUuid,
        request_id: task.requestId,
        reason: operatorReason(error),
      });
      store.transaction(() => {
        const current = store.instances.get(task.instanceUuid);
        if (current?.taskState === "unshelving") {
          endOperation(store, current, { ...task, vmState: current.vmState }, error);
        }
        context.finish();
      });
    }
  });
}

function startInPlace({ store, bus }: TaskDeps, { instanceUuid, requestId }: UnshelveTask, context: TaskContext): void {
  store.transaction(() => {
    const instance = store.instances.get(instanceUuid);
    if (instance?.host && instance.taskState === "unshelving") {
      store.instances.save(instanceUuid, { taskState: "powering-on" });
      bus.cast(instance.host, "start_instance", { instanceUuid, requestId }, requestId);
    }
    context.finish();
  });
}

async function schedule(deps: TaskDeps, task: UnshelveTask, instance: Instance): Promise<Destination> {
  const { store, scheduler } = deps;
  return scheduler.selectDestination({
    instanceUuid: instance.uuid,
    spec: { ...requestSpecOf(store, task), flavor: instance.flavor },
    requestedHost: task.host ?? undefined,
    portRequests: portRequestsOf(deps, instance.uuid),
    // A killed run may have left its claim; an offloaded instance has no other allocations.
    held: "replace",
    requestId: task.requestId,
  });
}

/** Returns false if the instance has been deleted, or is being deleted. */
function handOver(
  deps: TaskDeps,
  { instanceUuid, requestId }: UnshelveTask,
  { selection }: Destination,
  context: TaskContext,
): boolean {
  const { store, bus } = deps;
  return store.transaction(() => {
    const instance = store.instances.get(instanceUuid);
    if (instance === null || instance.taskState !== "unshelving") {
      return false;
    }
    const service = store.services.getByHost(selection.host, "nova-compute");
    store.instances.save(instanceUuid, { availabilityZone: service?.availabilityZone ?? instance.availabilityZone });
    savePortAllocations(deps, instanceUuid, selection);
    const { node, allocationRequest: allocations } = selection;
    const params = { instanceUuid, allocations, node, ...serverGroupOf(deps, instanceUuid), requestId };
    bus.cast(selection.host, "unshelve_instance", params, requestId);
    context.finish();
    return true;
  });
}

async function release({ placement }: TaskDeps, { instanceUuid, requestId }: UnshelveTask): Promise<void> {
  await placement.deleteAllocation(instanceUuid, { force: true, requestId });
}
