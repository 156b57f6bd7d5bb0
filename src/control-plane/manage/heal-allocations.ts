import { consumerToWire, holdsNothing, readConsumer } from "../../placement-client/consumer-allocations.js";
import { PlacementError } from "../../placement-client/errors.js";
import type { AllocationRewrite, Allocations, ConsumerAllocations } from "../../placement-client/types.js";
import { type Instance, instanceResources } from "../../records/index.js";
import { pythonJson } from "../python/repr.js";
import { INVALID_INPUT, ManageFailure, type ManageParts, putAllocations, updateFailed } from "./nova-manage.js";

/**
 * Nova's constant: the cell of instances without a host, which have no allocations.
 * @internal
 */
export const CELL0_UUID = "00000000-0000-0000-0000-000000000000";

/**
 * The only cell with hosts. In Nova each deployment generates its uuid; here it is a constant.
 * @internal
 */
export const CELL1 = { uuid: "ce110001-0000-4000-8000-000000000001", name: "cell1" } as const;

interface HealContext {
  readonly parts: ManageParts;
  /** Prints a line if --verbose is set. */
  readonly say: (line: string) => void;
  readonly dryRun: boolean;
  readonly force: boolean;
  readonly skipPorts: boolean;
  /** The uuids of compute nodes, cached by host and node. */
  readonly nodes: Map<string, string>;
}

interface Healing {
  readonly kind: "create" | "update";
  readonly write: AllocationRewrite;
}

/** Exit codes of `heal_allocations` for a single instance. */
const HEAL_CODES = { nodeNotFound: 2, notWritten: 3, notSupported: 8 } as const;

export interface HealOptions {
  /** As typed by the user. */
  readonly maxCount?: string;
  readonly instance?: string;
  readonly cell?: string;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly verbose: boolean;
  /** Leaves out the allocations of ports that request resources. Default false. */
  readonly skipPortAllocations?: boolean;
}

/** Exit codes of the complete command; see {@link HEAL_CODES} for those of a single instance. */
const CODES = { healed: 0, maxCountReached: 1, nothingHealed: 4 } as const;

/** The number of instances per batch without --max-count. */
const BATCH = 50;

/** The max number of instances in one response of the conductor. */
const PAGE = 50;

/**
 * `nova-manage placement heal_allocations` (spec 7.3).
 * @returns the exit code
 * @throws {ManageFailure}
 */
export async function healAllocations(parts: ManageParts, options: HealOptions): Promise<number> {
  const { instance, cell, force, dryRun, verbose, skipPortAllocations: skipPorts = false } = options;
  const say = verbose ? parts.print : () => undefined;
  if (instance !== undefined && cell !== undefined) {
    throw invalid("The --cell and --instance options are mutually exclusive.");
  }
  if (force && instance === undefined) {
    throw invalid("The --instance flag is required when using --force flag.");
  }
  const most = instance === undefined ? mostOf(options.maxCount) : undefined;
  if (instance === undefined && most === undefined) {
    say(`Running batches of ${BATCH} until complete`);
  }
  const heal = { parts, say, dryRun, force, skipPorts, nodes: new Map<string, string>() };
  const found = instance === undefined ? cellOf(cell) : await cellOfInstance(parts, instance);
  const processed = found === "cell0" ? 0 : await healCell(heal, instance === undefined ? undefined : [instance], most);
  if (processed === most) {
    say(`Max count reached. Processed ${processed} instances.`);
    return CODES.maxCountReached;
  }
  say(`Processed ${processed} instances.`);
  return processed === 0 ? CODES.nothingHealed : CODES.healed;
}

const invalid = (message: string): ManageFailure => new ManageFailure(INVALID_INPUT, message);

/** Returns the max number of instances; undefined: all. */
function mostOf(maxCount: string | undefined): number | undefined {
  if (maxCount === undefined) {
    return undefined;
  }
  const most = /^\s*\+?\d+\s*$/.test(maxCount) ? Number(maxCount) : 0;
  if (most < 1) {
    throw invalid("Must supply a positive integer for --max-count.");
  }
  return most;
}

function cellOf(cell: string | undefined): "cell0" | "cell1" {
  if (cell === undefined || cell === CELL1.uuid) {
    return "cell1";
  }
  if (cell === CELL0_UUID) {
    return "cell0";
  }
  throw invalid(`Cell with uuid ${cell} was not found.`);
}

async function cellOfInstance({ conductor }: ManageParts, uuid: string): Promise<"cell0" | "cell1"> {
  const cell = UUID.test(uuid) ? await conductor.call("instance_mapping", { uuid }) : null;
  if (cell !== null) {
    return cell;
  }
  throw invalid(
    `Unable to find cell for instance ${uuid}, is it mapped? Try running "nova-manage cell_v2 verify_instance" or ` +
      `"nova-manage cell_v2 map_instances".`,
  );
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** @returns the number of healed instances, at most `most` */
async function healCell(heal: HealContext, only: readonly string[] | undefined, most?: number): Promise<number> {
  const { parts, say } = heal;
  say(`Looking for instances in cell: ${CELL1.uuid}(${CELL1.name})`);
  const uuids = only ?? (await parts.conductor.call("instances_of_cell", {}));
  let processed = 0;
  for (const batch of chunks(uuids, most ?? BATCH)) {
    const instances = await load(parts, batch);
    if (instances.length > 0) {
      say(`Found ${instances.length} candidate instances.`);
    }
    for (const instance of instances) {
      if (await healInstance(heal, instance)) {
        processed += 1;
      }
      if (processed === most) {
        return processed;
      }
    }
  }
  return processed;
}

/** Loads the instances that still exist, in the order of `uuids`. */
async function load({ conductor }: ManageParts, uuids: readonly string[]): Promise<readonly Instance[]> {
  const loaded = new Map<string, Instance>();
  for (const page of chunks(uuids, PAGE)) {
    const found = await conductor.call("instances_by_filters", { filters: { uuids: page, deleted: false } });
    for (const instance of found) {
      if (instance.vmState !== "soft-delete") {
        loaded.set(instance.uuid, instance);
      }
    }
  }
  return uuids.flatMap((uuid) => loaded.get(uuid) ?? []);
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

/**
 * Heals one instance (spec 7.3 steps 1 to 6). Returns true if allocations were written.
 * @throws {ManageFailure}
 */
async function healInstance(heal: HealContext, instance: Instance): Promise<boolean> {
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

/** Returns the reason to skip the instance; undefined: none. */
function obstacleOf({ uuid, taskState, node }: Instance): string | undefined {
  if (taskState !== null) {
    return `Instance ${uuid} is undergoing a task state transition: ${taskState}`;
  }
  return node === null ? `Instance ${uuid} is not on a host.` : undefined;
}

/** Rejects instances with resources of child providers: the instance's node does not identify those. */
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
  const { conductor } = heal.parts;
  const ofPorts = heal.skipPorts ? {} : await conductor.call("port_allocations", { uuid });
  if (heal.force) {
    heal.say(`Force flag passed for instance ${uuid}`);
    return { kind: "update", write: await freshOf(heal, instance, held, ofPorts) };
  }
  if (holdsNothing(held)) {
    return { kind: "create", write: await freshOf(heal, instance, held, ofPorts) };
  }
  const allocations = withMissing(held.allocations, ofPorts);
  if (held.projectId === projectId && held.userId === userId && allocations === held.allocations) {
    return undefined;
  }
  return { kind: "update", write: { read: held, allocations, projectId, userId } };
}

/** Computes the allocations of the instance's flavor on its node, and those of its ports. */
async function freshOf(
  heal: HealContext,
  instance: Instance,
  read: ConsumerAllocations,
  ofPorts: Allocations,
): Promise<AllocationRewrite> {
  const { projectId, userId } = instance;
  const node = await nodeUuid(heal, instance);
  const allocations = withMissing({ [node]: { resources: instanceResources(instance) } }, ofPorts);
  return { read, allocations, projectId, userId };
}

/** Returns the allocations with those of ports that they lack; the same object if they lack none. */
function withMissing(held: Allocations, ofPorts: Allocations): Allocations {
  let allocations = held;
  for (const [provider, { resources }] of Object.entries(ofPorts)) {
    const heldThere = held[provider]?.resources ?? {};
    const missing = Object.entries(resources).filter(([name, amount]) => (heldThere[name] ?? 0) < amount);
    if (missing.length > 0) {
      const completed = { resources: { ...heldThere, ...Object.fromEntries(missing) } };
      allocations = { ...allocations, [provider]: completed };
    }
  }
  return allocations;
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

/**
 * Returns a change since the instance was listed that forbids writing; undefined: none. Upstream does not check again.
 */
async function changeOf({ conductor }: ManageParts, listed: Instance): Promise<string | undefined> {
  const { uuid, host, node } = listed;
  const now = await conductor.call("instance_get", { uuid });
  if (!now) {
    return `Instance ${uuid} was deleted meanwhile.`;
  }
  const moved = now.host !== host || now.node !== node ? `Instance ${uuid} was moved meanwhile.` : undefined;
  return obstacleOf(now) ?? moved;
}

/**
 * Deletes the allocations that were written while the instance was being deleted: the delete had already removed them.
 */
async function takeBackOfDeleted({ conductor, placement, context }: ManageParts, uuid: string): Promise<void> {
  const now = await conductor.call("instance_get", { uuid });
  if (!now || now.taskState === "deleting") {
    await placement.delete(`/allocations/${uuid}`, context);
  }
}
