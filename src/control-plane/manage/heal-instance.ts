import { consumerToWire, holdsNothing, readConsumer } from "../../placement-client/consumer-allocations.js";
import { PlacementError } from "../../placement-client/errors.js";
import type { AllocationRewrite, ConsumerAllocations } from "../../placement-client/types.js";
import { type Instance, instanceResources } from "../../records/index.js";
import { pythonJson } from "../python/plain-json.js";
import { ManageFailure, type ManageParts } from "./manage-parts.js";
import { putAllocations, updateFailed } from "./put-allocations.js";

/** Codes of `heal_allocations` that one instance decides. */
const HEAL_CODES = { nodeNotFound: 2, notWritten: 3, notSupported: 8 } as const;

export interface HealContext {
  readonly parts: ManageParts;
  /** A line under --verbose. */
  readonly say: (line: string) => void;
  readonly dryRun: boolean;
  readonly force: boolean;
  /** Uuids of the compute nodes that were looked up, by host and node. */
  readonly nodes: Map<string, string>;
}

interface Healing {
  readonly kind: "create" | "update";
  readonly write: AllocationRewrite;
}

/** Spec 7.3 steps 1 to 6. True: allocations were written. @throws {ManageFailure} */
export async function healInstance(heal: HealContext, instance: Instance): Promise<boolean> {
  const { say, parts } = heal;
  const { uuid } = instance;
  const obstacle = obstacleOf(instance);
  if (obstacle !== undefined) {
    say(obstacle);
    return false;
  }
  assertHealable(instance);
  const healing = await healingOf(heal, instance, await read(parts, uuid));
  if (!healing) {
    say(`The allocation of instance ${uuid} is up-to-date. Nothing to be healed.`);
    return false;
  }
  if (heal.dryRun) {
    const verb = healing.kind === "create" ? "Create" : "Update";
    say(`[dry-run] ${verb} allocations for instance ${uuid}: ${pythonJson(wireOf(healing.write))}`);
    return false;
  }
  const change = await changeOf(parts, instance);
  if (change !== undefined) {
    say(change);
    return false;
  }
  const rejection = await putAllocations(parts, uuid, healing.write);
  if (rejection !== undefined) {
    throw new ManageFailure(HEAL_CODES.notWritten, rejection);
  }
  if (healing.kind === "create") {
    await takeBackOfDeleted(parts, uuid);
  }
  say(`Successfully ${healing.kind}d allocations for instance ${uuid}.`);
  return true;
}

/** Why the instance is passed over. */
function obstacleOf({ uuid, taskState, node }: Instance): string | undefined {
  if (taskState !== null) {
    return `Instance ${uuid} is undergoing a task state transition: ${taskState}`;
  }
  return node === null ? `Instance ${uuid} is not on a host.` : undefined;
}

/** The node of an instance does not show what a child provider gives it. */
function assertHealable(instance: Instance): void {
  const { uuid, flavor } = instance;
  const { extraSpecs } = flavor;
  const unsupportedResource = instanceResources(instance).VGPU
    ? "vGPU resource"
    : extraSpecs["accel:device_profile"] && "Cyborg device profile";
  if (!unsupportedResource) {
    return;
  }
  throw new ManageFailure(
    HEAL_CODES.notSupported,
    `Healing allocation for instance ${uuid} with ${unsupportedResource} request is not supported.`,
  );
}

async function read({ placement, context }: ManageParts, uuid: string): Promise<ConsumerAllocations> {
  try {
    return await readConsumer(placement, uuid, context);
  } catch (error) {
    if (!(error instanceof PlacementError)) {
      throw error;
    }
    throw new ManageFailure(
      HEAL_CODES.notWritten,
      updateFailed(
        uuid,
        `Allocation retrieval failed: Failed to retrieve allocations for consumer ${uuid}: ${error.message}`,
      ),
    );
  }
}

async function healingOf(
  heal: HealContext,
  instance: Instance,
  held: ConsumerAllocations,
): Promise<Healing | undefined> {
  const { uuid, projectId, userId } = instance;
  if (heal.force) {
    heal.say(`Force flag passed for instance ${uuid}`);
    return { kind: "update", write: await freshOf(heal, instance, held) };
  }
  if (holdsNothing(held)) {
    return { kind: "create", write: await freshOf(heal, instance, held) };
  }
  if (held.projectId === projectId && held.userId === userId) {
    return undefined;
  }
  return { kind: "update", write: { read: held, allocations: held.allocations, projectId, userId } };
}

/** What the instance's flavor takes on its node. */
async function freshOf(heal: HealContext, instance: Instance, read: ConsumerAllocations): Promise<AllocationRewrite> {
  const { projectId, userId } = instance;
  const resources = instanceResources(instance);
  const node = await nodeUuid(heal, instance);
  return { read, allocations: { [node]: { resources } }, projectId, userId };
}

function wireOf({ read, ...write }: AllocationRewrite) {
  return consumerToWire({ ...write, consumerGeneration: read.consumerGeneration });
}

async function nodeUuid({ nodes, parts }: HealContext, { host, node }: Instance): Promise<string> {
  const place = JSON.stringify([host, node]);
  const known = nodes.get(place);
  if (known !== undefined) {
    return known;
  }
  const found =
    host === null || node === null
      ? null
      : await parts.conductor.call("compute_node_get_by_host_and_node", { host, node });
  if (!found) {
    throw new ManageFailure(HEAL_CODES.nodeNotFound, `Compute host ${host} could not be found.`);
  }
  nodes.set(place, found.uuid);
  return found.uuid;
}

/** What has become of the instance since it was listed, if that forbids to write; upstream does not look again. */
async function changeOf({ conductor }: ManageParts, listed: Instance): Promise<string | undefined> {
  const { uuid, host, node } = listed;
  const now = await conductor.call("instance_get", { uuid });
  if (!now) {
    return `Instance ${uuid} was deleted meanwhile.`;
  }
  const moved = now.host !== host || now.node !== node ? `Instance ${uuid} was moved meanwhile.` : undefined;
  return obstacleOf(now) ?? moved;
}

/** A delete that ran beside the write has taken away the instance's allocations already. */
async function takeBackOfDeleted({ conductor, placement, context }: ManageParts, uuid: string): Promise<void> {
  const now = await conductor.call("instance_get", { uuid });
  if (!now || now.taskState === "deleting") {
    await placement.delete(`/allocations/${uuid}`, context);
  }
}
