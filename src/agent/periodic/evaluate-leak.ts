import { FINAL_MIGRATION_STATUSES, type Instance, type Migration } from "../../records/index.js";

/** What is known of a consumer that holds something on this host's tree. */
export interface LeakInputs {
  /** The host of this agent. */
  readonly host: string;
  /** The node whose tree it is. */
  readonly node: string;
  /** The consumer, if it is a migration. */
  readonly migration: Migration | null;
  /** The consumer, or the migration's instance; deleted ones too. Null: there is none. */
  readonly instance: Instance | null;
  /** Every migration of the instance. */
  readonly moves: readonly Migration[];
  /** The instance itself holds something on this tree, and not what only its migration's half could replace. */
  readonly instanceHoldsTree: boolean;
  /** Everybody who holds something on this tree. */
  readonly holders: ReadonlySet<string>;
  /** The instance itself holds something on another tree. */
  readonly instanceHoldsElsewhere: boolean;
  /** The instance holds all that its flavor takes on this tree, and more. */
  readonly instanceHoldsMore: boolean;
  /** Nothing was written of the migration for so long that no agent can be working on it. */
  readonly abandoned: boolean;
  /** The instance has a guest on this hypervisor. Null: the driver could not tell. */
  readonly guestIsHere: boolean | null;
}

/**
 * `keep`: rightly held, or it cannot be told yet. `give-back`: the only account of a guest that is here, which its
 * migration did not hand over. `free`: a leak whose part of this tree nobody will ever need. `trim`: what the instance here
 * holds beyond its need. `end`: as `free`, of a move that nobody will end any more: first it is set to error.
 */
export type LeakResult =
  | { readonly action: "keep" }
  | {
      readonly action: "give-back" | "free" | "trim" | "end";
      readonly kind: "migration" | "instance";
      readonly reason: string;
    };

const KEEP: LeakResult = { action: "keep" };

/** Spec 9.3. Never guesses while anything moves the instance. */
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
  // A revert that could not give the allocations back: without them the guest here would be on nobody's account.
  const givesBack = instance.host === host && !instanceHoldsTree;
  // What a cold move that failed has set aside here looks like a guest; what it holds is no live migration's.
  const isSetAside = !givesBack && migrationType !== "live-migration" && status === "error";
  if (instance.taskState !== null || (!isSetAside && isUnsure(inputs))) {
    return KEEP;
  }
  return givesBack
    ? { action: "give-back", kind: "migration", reason: `${reason}, and holds what its instance on this host needs` }
    : { action: "free", kind: "migration", reason };
}

/** Row 7 of spec 4.6, and what a same-host move has left. Rows of deleted instances are the tracker's. */
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
  // The node has gone to another host of its driver, and the instance with it: the tree is the node's, whosever that is.
  if (instance.node === node) {
    return KEEP;
  }
  // After a move in error this may be all that the instance has; after an evacuation from here that is done the guest goes
  // first, which is start-up's to see to.
  const unsettled = moves.some(
    ({ status, migrationType, sourceCompute }) =>
      (status === "error" && !instanceHoldsElsewhere) ||
      (migrationType === "evacuation" && status === "done" && sourceCompute === host && guestIsHere !== false),
  );
  return unsettled || isUnsure(inputs)
    ? KEEP
    : { action: "free", kind: "instance", reason: `the instance is at rest on host ${instance.host}` };
}

/** A move between other hosts, which may wait for its confirmation for ever, takes nothing on this one. */
function mayNeed({ sourceCompute, destCompute }: Migration, host: string): boolean {
  return sourceCompute === host || destCompute === host || destCompute === null;
}

/**
 * A move that waits for its confirmation, for ever perhaps, has each half that it has on this host on an account of its own: it will
 * neither take nor leave what an earlier one holds here.
 */
function hasItsOwn({ host, instanceHoldsTree, holders }: LeakInputs, move: Migration): boolean {
  const { uuid, status, sourceCompute, destCompute } = move;
  return (
    status === "finished" &&
    (destCompute !== host || instanceHoldsTree) &&
    (sourceCompute !== host || holders.has(uuid))
  );
}

/** `finished` too: it waits for its confirmation. So do evacuations that are accepted or pre-migrating. */
const isUnderWay = ({ status }: Migration): boolean => !FINAL_MIGRATION_STATUSES.includes(status);

/**
 * After a live migration in error that had a destination the records may be wrong about where the guest is: it has to be where they
 * say, until a later move has taken it from this host or brought it here.
 */
function isUnsure({ host, instance, moves, guestIsHere }: LeakInputs): boolean {
  const torn = moves.findLast(
    ({ migrationType, status, destCompute }) =>
      migrationType === "live-migration" && status === "error" && destCompute !== null,
  );
  const isKnown = moves.some((later) => torn !== undefined && later.id > torn.id && hasMovedGuest(later, host));
  return torn !== undefined && !isKnown && guestIsHere !== (instance?.host === host);
}

/** An evacuation leaves the guest of its source where it is. */
function hasMovedGuest({ migrationType, status, sourceCompute, destCompute }: Migration, host: string): boolean {
  const from = sourceCompute === host && migrationType !== "evacuation";
  return ["completed", "done", "finished", "confirmed", "reverted"].includes(status) && (from || destCompute === host);
}

/** A forced live migration or evacuation claims what its source held, with what a move on that one host had left there (6.5 row 4f, 6.7). */
function findInheritedMove(moves: readonly Migration[], host: string): Migration | undefined {
  const arrived = moves
    .filter(
      ({ migrationType, destCompute }) => /^(live-migration|evacuation)$/.test(migrationType) && destCompute === host,
    )
    .at(-1);
  return arrived && moves.filter((move) => move.id < arrived.id && isOnOneHost(move, move.sourceCompute)).at(-1);
}

/** The claim of a move back is added to what an earlier one from here has left, as a revert that failed does (6.0). */
function cameBack(moves: readonly Migration[], host: string): Migration | undefined {
  return moves.findLast(
    (left) =>
      left.sourceCompute === host &&
      left.migrationType !== "evacuation" &&
      moves.some(({ id, destCompute }) => id > left.id && destCompute === host),
  );
}

/** Its destination is not recorded where it ended before its claim. */
function isOnOneHost({ migrationType, sourceCompute, destCompute }: Migration, host: string | null): boolean {
  return (
    (migrationType === "resize" || migrationType === "migration") &&
    sourceCompute === host &&
    (destCompute === null || destCompute === host)
  );
}
