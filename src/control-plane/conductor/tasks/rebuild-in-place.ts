import {
  holdsTask,
  hostRequirementsOf,
  type Instance,
  imagePropertiesOf,
  type VmState,
  withImageProperties,
} from "../../../records/index.js";
import { NoValidHost, operatorReason } from "../../scheduler/errors.js";
import type { Task } from "../../store/tasks.js";
import type { TaskContext } from "../task-runner.js";
import { endOperation } from "./faults.js";
import { sourceNode } from "./source-allocations.js";
import { ActionEvents, type TaskDeps } from "./task-deps.js";

type RebuildTask = Extract<Task, { kind: "rebuild_in_place" }>;
type ImageProperties = Readonly<Record<string, string>>;

/** Returns the parameters of rebuild_instance for a rebuild on the same host. @param rebuild `reimages`: whether the boot volume gets the image's data */
export function rebuildParams(
  { uuid, node, imageRef, reimages }: Pick<Instance, "uuid" | "node" | "imageRef"> & { readonly reimages: boolean },
  requestId: string,
) {
  return {
    instanceUuid: uuid,
    migrationId: null,
    onSharedStorage: null,
    recreate: false,
    node: node ?? "",
    imageRef,
    targetStopped: false,
    ...(reimages && { reimageBootVolume: true }),
    requestId,
  };
}

/** Returns true if an image has requirements on the host. */
export function requiresHost(image: ImageProperties): boolean {
  return (
    traitsOf(image).size > 0 ||
    Object.values(hostRequirementsOf(image)).some((requirement) => requirement !== undefined)
  );
}

/**
 * Rebuilds on the same host (spec 6.6): checks the new image against the host and the server's allocations, then casts to
 * it.
 */
export async function rebuildInPlace(deps: TaskDeps, task: RebuildTask, taskContext: TaskContext): Promise<void> {
  const { store } = deps;
  const instance = ownInstance(deps, task);
  if (instance === null) {
    return;
  }
  const events = new ActionEvents(store, task, "rebuild_server");
  await events.during(taskContext, async (context) => {
    try {
      await checkImage(deps, instance, task.requestId);
      handOver(deps, task, context);
    } catch (error) {
      events.fail(error);
      store.transaction(() => {
        rejectRebuild(deps, task, error);
        context.finish();
      });
    }
  });
}

/** Returns null if the instance is deleted, or another request owns it. */
function ownInstance({ store }: TaskDeps, { instanceUuid, requestId }: RebuildTask): Instance | null {
  const instance = store.instances.get(instanceUuid);
  return instance !== null && holdsTask(instance, requestId, ["rebuilding"]) ? instance : null;
}

/** @throws {NoValidHost} with Nova's messages */
async function checkImage({ store, placement, scheduler }: TaskDeps, instance: Instance, requestId: string) {
  const image = imagePropertiesOf(instance);
  const required = traitsOf(image);
  if (required.size > 0) {
    if (forbiddenTraitsOf(instance).some((trait) => required.has(trait))) {
      throw new NoValidHost(
        "Image traits are part of forbidden traits in flavor associated with the server. Either specify a different image during rebuild or create a new server with the specified image and a compatible flavor.",
      );
    }
    const { allocations } = await placement.getAllocationsForConsumer(instance.uuid, { requestId });
    for (const provider of Object.keys(allocations)) {
      const { traits } = await placement.getProviderTraits(provider, { requestId });
      for (const trait of traits) {
        required.delete(trait);
      }
    }
    if (required.size > 0) {
      throw new NoValidHost(
        "Image traits cannot be satisfied by the current resource providers. Either specify a different image during rebuild or create a new server with the specified image.",
        `Missing: ${[...required].sort().join(", ")}.`,
      );
    }
  }
  const node = sourceNode(store, instance);
  if (node !== undefined) {
    scheduler.checkRebuild(node, image);
  }
}

function handOver(deps: TaskDeps, task: RebuildTask, context: TaskContext): void {
  const { store, bus } = deps;
  store.transaction(() => {
    const instance = ownInstance(deps, task);
    if (instance !== null && instance.host !== null) {
      const { reimagedWith: image } = task;
      const rebuilt = { ...instance, imageRef: image ?? instance.imageRef, reimages: image !== undefined };
      bus.cast(instance.host, "rebuild_instance", rebuildParams(rebuilt, task.requestId), task.requestId);
    }
    context.finish();
  });
}

/**
 * Restores the server's image and ends the rebuild. After NoValidHost the server is in error, as in Nova; after other
 * errors its vm_state is unchanged.
 */
export function rejectRebuild(deps: TaskDeps, task: RebuildTask, error: unknown): void {
  const { store, logger } = deps;
  const instance = ownInstance(deps, task);
  if (instance === null) {
    return;
  }
  const { uuid, systemMetadata } = instance;
  logger.warn("rebuild failed", { instance: uuid, request_id: task.requestId, reason: operatorReason(error) });
  store.instances.save(uuid, {
    imageRef: task.previousImageRef,
    systemMetadata: withImageProperties(systemMetadata, task.previousProperties),
  });
  store.requests.changeSpec(uuid, { imageRef: task.previousImageRef });
  const vmState: VmState = error instanceof NoValidHost ? "error" : instance.vmState;
  endOperation(store, instance, { requestId: task.requestId, vmState }, error);
}

/** Returns the traits that an image requires. */
function traitsOf(image: ImageProperties): Set<string> {
  const required = Object.entries(image).filter(([name, value]) => name.startsWith("trait:") && value === "required");
  return new Set(required.map(([name]) => name.slice("trait:".length)));
}

function forbiddenTraitsOf({ flavor }: Instance): readonly string[] {
  return Object.entries(flavor.extraSpecs)
    .filter(([key, value]) => key.startsWith("trait") && value === "forbidden")
    .map(([key]) => key.slice(key.indexOf(":") + 1));
}
