import type { Snapshot } from "../read/records.js";
import { doubledAllocations } from "./doubled-allocation.js";
import { CODES, type Finding, keyOf } from "./finding.js";
import { identityClashes } from "./identity-clash.js";
import { Facts, type Patience } from "./inputs.js";
import { leftGuests } from "./left-guests.js";
import { missingAllocations } from "./missing-allocation.js";
import { nodesWithoutProvider } from "./node-without-provider.js";
import { overcommittedInventories } from "./overcommitted-inventory.js";
import { providersWithoutNode } from "./provider-without-node.js";
import { staleInventories } from "./stale-inventory.js";
import { unfinishedEvacuations } from "./unfinished-evacuation.js";
import { unfinishedMigrations } from "./unfinished-migration.js";
import { unknownConsumers } from "./unknown-consumers.js";
import { whereabouts } from "./whereabouts.js";
import { wrongAmounts } from "./wrong-amounts.js";
import { wrongOwners } from "./wrong-owner.js";
import { wrongProviders } from "./wrong-provider.js";

export interface JudgeOptions {
  /** 0..1: the share of a provider's consumers, or of all, that may be called orphaned at once. */
  readonly maxShare: number;
  /** Default: {@link DEFAULT_PATIENCE}. */
  readonly patience?: Patience;
}

/** Everything that is wrong with a snapshot, by code. */
export function judge(snapshot: Snapshot, { maxShare, patience }: JudgeOptions): Finding[] {
  const facts = new Facts(snapshot, patience);
  const placed = whereabouts(facts);
  return [
    ...unknownConsumers(facts, maxShare),
    ...wrongProviders(facts, placed),
    ...doubledAllocations(facts, placed),
    ...missingAllocations(facts, placed),
    ...wrongAmounts(facts, placed),
    ...wrongOwners(facts),
    ...providersWithoutNode(facts),
    ...nodesWithoutProvider(facts),
    ...identityClashes(facts),
    ...overcommittedInventories(facts),
    ...staleInventories(facts),
    ...unfinishedMigrations(facts, placed),
    ...unfinishedEvacuations(facts, placed),
    ...leftGuests(facts),
  ].toSorted(
    (one, other) => CODES.indexOf(one.code) - CODES.indexOf(other.code) || keyOf(one).localeCompare(keyOf(other)),
  );
}
