import type { Snapshot } from "../read/records.js";
import { doubledAllocations } from "./doubled-allocation.js";
import { CODES, type Finding, keyOf } from "./finding.js";
import { identityClashes } from "./identity-clash.js";
import { type MoveTimeouts, SnapshotIndex } from "./inputs.js";
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

export interface CheckOptions {
  /** 0..1: the share of a provider's consumers, or of all, that may be called orphaned at once. */
  readonly maxShare: number;
  /** Default: {@link DEFAULT_PATIENCE}. */
  readonly moveTimeouts?: MoveTimeouts;
}

/** Everything that is wrong with a snapshot, by code. */
export function checkSnapshot(snapshot: Snapshot, { maxShare, moveTimeouts }: CheckOptions): Finding[] {
  const index = new SnapshotIndex(snapshot, moveTimeouts);
  const placed = whereabouts(index);
  return [
    ...unknownConsumers(index, maxShare),
    ...wrongProviders(index, placed),
    ...doubledAllocations(index, placed),
    ...missingAllocations(index, placed),
    ...wrongAmounts(index, placed),
    ...wrongOwners(index),
    ...providersWithoutNode(index),
    ...nodesWithoutProvider(index),
    ...identityClashes(index),
    ...overcommittedInventories(index),
    ...staleInventories(index),
    ...unfinishedMigrations(index, placed),
    ...unfinishedEvacuations(index, placed),
    ...leftGuests(index),
  ].toSorted(
    (one, other) => CODES.indexOf(one.code) - CODES.indexOf(other.code) || keyOf(one).localeCompare(keyOf(other)),
  );
}
