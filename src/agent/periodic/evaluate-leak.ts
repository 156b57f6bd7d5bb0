import { FINAL_MIGRATION_STATUSES, type Instance, type Migration } from "../../records/index.js";

/** The inputs about a consumer with allocations on this host's tree. */
export interface LeakInputs {
  /** The host of this agent. */
  readonly host: string;
  /** The root node of the tree. */
  readonly node: string;
  /** The consumer, if it is a migration. */
  readonly migration: Migration | null;
  /** The consumer, or the migration's instance, even if deleted. Null: there is none. */
  readonly instance: Instance | null;
  /** All migrations of the instance. */
  readonly moves: readonly Migration[];
  /** True if the instance itself has allocations on this tree that its migration's allocations do not have to replace. */
  readonly instanceHoldsTree: boolean;
  /** All consumers with allocations on this tree. */
  readonly holders: ReadonlySet<string>;
  /** True if the instance itself has allocations on another tree. */
  readonly instanceHoldsElsewhere: boolean;
  /** True if the instance's allocations on this tree exceed its flavor. */
  readonly instanceHoldsMore: boolean;
  /** True if the migration was not written for so long that no agent can be working on it. */
  readonly abandoned: boolean;
  /** True if the instance has a guest on this hypervisor. Null: unknown to the driver. */
  readonly guestIsHere: boolean | null;
}

/**
 * `keep`: correct, or undecided yet. `give-back`: the only allocations of a guest that is here, which its migration did
 * not return. `free`: a leak whose part of this tree is never needed again. `trim`: allocations of the instance here
 * beyond its need. `end`: as `free`, for a move that no process will end: its migration is set to error first.
 */
export type LeakResult =
  | { readonly action: "keep" }
  | {
      readonly action: "give-back" | "free" | "trim" | "end";
      readonly kind: "migration" | "instance";
      readonly reason: string;
    };

const KEEP: LeakResult = { action: "keep" };

/** Spec 9.3. Never guesses while a move of the instance is running. */
export function checkLeak(inputs: LeakInputs): LeakResult {
  return inputs.migration ? checkMigration(inputs, inputs.migration) : checkInstance(inputs);
}

function checkMigration(inputs: LeakInputs, migration: Migration): LeakResult {
  const { host, instance, moves, instanceHoldsTree } = inputs;
  const { id, status, migrationType } = migration;
  const gone = instance === null || instance.deleted !== 0;
  if (gone && inputs.abandoned && isUnderWay(migration)) {
    const left = `${migrationType} ${id} was left ${status}, and its instance is deleted`;
    return { action: "end", kind: "migration", reason: left };
  }
  if (
    isUnderWay(migration) ||
    moves.some((move) => isUnderWay(move) && mayNeed(move, host) && !hasItsOwn(inputs, move))
  ) {
    return KEEP;
  }
  const reason = `${migrationType} ${id} has ended (${status})`;
  if (gone) {
    return { action: "free", kind: "migration", reason };
  }
  // A revert could not return the allocations: without them the guest here would have none.
  const givesBack = instance.host === host && !instanceHoldsTree;
  // Leftovers that a failed cold move set aside here resemble a guest; the allocations belong to no live migration.
  const isSetAside = !givesBack && migrationType !== "live-migration" && status === "error";
  if (instance.taskState !== null || (!isSetAside && isUnsure(inputs))) {
    return KEEP;
  }
  return givesBack
    ? {
        action: "give-back",
        kind: "migration",
        reason: `${reason}, and has the allocations that its instance on this host needs`,
      }
    : { action: "free", kind: "migration", reason };
}

/** Row 7 of spec 4.6, and leftovers of a same-host move. The tracker handles rows of deleted instances. */
function checkInstance(inputs: LeakInputs): LeakResult {
  const { host, node, instance, moves, instanceHoldsElsewhere, instanceHoldsMore, guestIsHere } = inputs;
  if (instance === null || instance.deleted !== 0 || instance.host === null) {
    return KEEP;
  }
  if (instance.taskState !== null || moves.some(isUnderWay)) {
    return KEEP;
  }
  if (instance.host === host) {
    const stayed =
      moves.filter((move) => isOnOneHost(move, host)).at(-1) ?? findInheritedMove(moves, host) ?? cameBack(moves, host);
    if (!stayed || !instanceHoldsMore) {
      return KEEP;
    }
    const where = stayed.sourceCompute === host ? "this host" : `host ${stayed.sourceCompute}`;
    const on = isOnOneHost(stayed, stayed.sourceCompute) ? "on" : "from";
    const reason = `${stayed.migrationType} ${stayed.id} ${on} ${where} has ended (${stayed.status})`;
    return { action: "trim", kind: "instance", reason };
  }
  // The node has gone to another host of its driver, and the instance with it: the tree belongs to the node, whichever
  // host has it.
  if (instance.node === node) {
    return KEEP;
  }
  // After a move in error these may be the instance's only allocations. After a completed evacuation from here start-up
  // removes the guest first.
  const unsettled = moves.some(
    ({ status, migrationType, sourceCompute }) =>
      (status === "error" && !instanceHoldsElsewhere) ||
      (migrationType === "evacuation" && status === "done" && sourceCompute === host && guestIsHere !== false),
  );
  return unsettled || isUnsure(inputs)
    ? KEEP
    : { action: "free", kind: "instance", reason: `the instance is at rest on host ${instance.host}` };
}

/** Returns whether the move may use this host; one between other hosts may wait for its confirmation forever. */
function mayNeed({ sourceCompute, destCompute }: Migration, host: string): boolean {
  return sourceCompute === host || destCompute === host || destCompute === null;
}

/**
 * Returns whether the move waits for its confirmation, and its allocations on this host are complete. It then neither
 * uses nor leaves the allocations of an earlier move here.
 */
function hasItsOwn({ host, instanceHoldsTree, holders }: LeakInputs, move: Migration): boolean {
  const { uuid, status, sourceCompute, destCompute } = move;
  return (
    status === "finished" &&
    (destCompute !== host || instanceHoldsTree) &&
    (sourceCompute !== host || holders.has(uuid))
  );
}

/** Includes `finished`, which waits for its confirmation, and evacuations that are accepted or pre-migrating. */
const isUnderWay = ({ status }: Migration): boolean => !FINAL_MIGRATION_STATUSES.includes(status);

/**
 * Returns whether the location of the guest contradicts the records. After a live migration in error that had a
 * destination, the records may be wrong about the guest. They are trusted if they match the driver, or once a later
 * move has taken the guest from this host or brought it here.
 */
function isUnsure({ host, instance, moves, guestIsHere }: LeakInputs): boolean {
  const torn = moves.findLast(
    ({ migrationType, status, destCompute }) =>
      migrationType === "live-migration" && status === "error" && destCompute !== null,
  );
  const isKnown = moves.some((later) => torn !== undefined && later.id > torn.id && hasMovedGuest(later, host));
  return torn !== undefined && !isKnown && guestIsHere !== (instance?.host === host);
}

/** An evacuation leaves the guest on its source. */
function hasMovedGuest({ migrationType, status, sourceCompute, destCompute }: Migration, host: string): boolean {
  const from = sourceCompute === host && migrationType !== "evacuation";
  return ["completed", "done", "finished", "confirmed", "reverted"].includes(status) && (from || destCompute === host);
}

/**
 * Finds the move whose leftovers an arrival has copied: a forced live migration or evacuation claims its source's
 * allocations, including leftovers of a move on that one host (6.5 row 4f, 6.7).
 */
function findInheritedMove(moves: readonly Migration[], host: string): Migration | undefined {
  const arrived = moves
    .filter(
      ({ migrationType, destCompute }) => /^(live-migration|evacuation)$/.test(migrationType) && destCompute === host,
    )
    .at(-1);
  return arrived && moves.filter((move) => move.id < arrived.id && isOnOneHost(move, move.sourceCompute)).at(-1);
}

/** Finds a move from here before a return: the returning claim is added to its leftovers (6.0). */
function cameBack(moves: readonly Migration[], host: string): Migration | undefined {
  return moves.findLast(
    (left) =>
      left.sourceCompute === host &&
      left.migrationType !== "evacuation" &&
      moves.some(({ id, destCompute }) => id > left.id && destCompute === host),
  );
}

/** The destination is not recorded if the move ended before its claim. */
function isOnOneHost({ migrationType, sourceCompute, destCompute }: Migration, host: string | null): boolean {
  return (
    (migrationType === "resize" || migrationType === "migration") &&
    sourceCompute === host &&
    (destCompute === null || destCompute === host)
  );
}
