import type { Instance } from "../../records/index.js";
import { CELL0_UUID, CELL1 } from "./cells.js";
import { type HealContext, healInstance } from "./heal-instance.js";
import { INVALID_INPUT, ManageFailure, type ManageParts } from "./manage-parts.js";

export interface HealOptions {
  /** As it was typed. */
  readonly maxCount?: string;
  readonly instance?: string;
  readonly cell?: string;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly verbose: boolean;
}

/** Codes of the command as a whole; those that an instance decides are in heal-instance.ts. */
const CODES = { healed: 0, maxCountReached: 1, nothingHealed: 4 } as const;

/** Candidates that are looked for at a time without --max-count. */
const BATCH = 50;
/** Instances that one answer of the conductor brings. */
const PAGE = 50;

/** `nova-manage placement heal_allocations` (spec 7.3). @returns the exit code. @throws {ManageFailure} */
export async function healAllocations(parts: ManageParts, options: HealOptions): Promise<number> {
  const { instance, cell, force, dryRun, verbose } = options;
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
  const heal = { parts, say, dryRun, force, nodes: new Map<string, string>() };
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

/** Undefined: all. */
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

/** @returns how many were healed, never more than `most` */
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

/** The instances that are still there, in the order given. */
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
