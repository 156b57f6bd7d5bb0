import { FINAL_MIGRATION_STATUSES, type Instance, type Migration } from "../../conductor/records/index.js";

/** What is known of a consumer that holds something on this host's tree. */
export interface LeakFacts {
  /** Of this agent. */
  readonly host: string;
  /** The consumer, if it is a migration. */
  readonly migration: Migration | null;
  /** The consumer, or the migration's instance; deleted ones too. Null: there is none. */
  readonly instance: Instance | null;
  /** Every migration of the instance. */
  readonly moves: readonly Migration[];
  /** The instance itself holds something on this tree, and not what only its migration's half could replace. */
  readonly instanceHoldsTree: boolean;
  /** The instance itself holds something on another tree. */
  readonly instanceHoldsElsewhere: boolean;
}

/**
 * `keep`: rightly held, or it cannot be told yet. `give-back`: the only account of a guest that is here, which its
 * migration did not hand over. `free`: a leak whose part of this tree nobody will ever need.
 */
export type LeakVerdict =
  | { readonly action: "keep" }
  | { readonly action: "give-back" | "free"; readonly kind: "migration" | "instance"; readonly reason: string };

const KEEP: LeakVerdict = { action: "keep" };

/** Spec 9.3. Never guesses while anything moves the instance. */
export function judgeLeak(facts: LeakFacts): LeakVerdict {
  return facts.migration ? judgeMigration(facts, facts.migration) : judgeInstance(facts);
}

function judgeMigration(
  { host, instance, moves, instanceHoldsTree }: LeakFacts,
  { id, status, migrationType }: Migration,
): LeakVerdict {
  if (!FINAL_MIGRATION_STATUSES.includes(status) || moves.some(isUnderWay)) return KEEP;
  const reason = `${migrationType} ${id} has ended (${status})`;
  if (instance === null || instance.deleted !== 0) return { action: "free", kind: "migration", reason };
  if (instance.taskState !== null) return KEEP;
  // A revert that could not give the allocations back: without them the guest here would be on nobody's account.
  return instance.host === host && !instanceHoldsTree
    ? { action: "give-back", kind: "migration", reason: `${reason}, and holds what its instance on this host needs` }
    : { action: "free", kind: "migration", reason };
}

/** Row 7 of spec 4.6. Rows of deleted instances are the tracker's. */
function judgeInstance({ host, instance, moves, instanceHoldsElsewhere }: LeakFacts): LeakVerdict {
  const elsewhere = instance !== null && instance.deleted === 0 && instance.host !== null && instance.host !== host;
  if (!elsewhere || instance.taskState !== null || moves.some(isUnderWay)) return KEEP;
  // After a move in error this may be all that the instance has; a done evacuation from here is start-up's to clean up,
  // guest first.
  const unsettled = moves.some(
    ({ status, migrationType, sourceCompute }) =>
      (status === "error" && !instanceHoldsElsewhere) ||
      (migrationType === "evacuation" && status === "done" && sourceCompute === host),
  );
  return unsettled
    ? KEEP
    : { action: "free", kind: "instance", reason: `the instance is at rest on host ${instance.host}` };
}

/** `finished` too: it waits for its confirmation. So do evacuations that are accepted or pre-migrating. */
const isUnderWay = ({ status }: Migration): boolean => !FINAL_MIGRATION_STATUSES.includes(status);
