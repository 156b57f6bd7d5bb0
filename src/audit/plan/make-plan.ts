import type { ConsumerRemedy, Finding, ProviderRemedy } from "../checks/finding.js";
import type { Snapshot } from "../read/records.js";
import { type DraftEdit, editConsumers } from "./edit-consumers.js";
import { editProvider, type ProviderDetails } from "./edit-providers.js";
import type { Action, Edit, Plan } from "./plan.js";

export interface PlannedAudit {
  /** The findings; where the plan cannot make an edit that is right, `left` says why. */
  readonly findings: readonly Finding[];
  readonly plan: Plan;
}

/** @param details of the providers that are to be deleted, by uuid */
export function makePlan(
  cloud: string,
  findings: readonly Finding[],
  snapshot: Snapshot,
  details: ReadonlyMap<string, ProviderDetails>,
): PlannedAudit {
  const allocations = editConsumers(findings, snapshot);
  const drafts = findings.flatMap((finding) => {
    const remedies = finding.remedies.filter((remedy) => isProviderRemedy(remedy));
    return remedies.map((remedy) => ({ finding, remedy }));
  });
  const retained = new Set(
    drafts.filter(({ remedy }) => stillHeld(remedy, snapshot, allocations)).map(({ finding }) => finding),
  );
  const wipes = countWipes(allocations);
  const edits = drafts
    .filter(({ finding }) => !retained.has(finding))
    .flatMap(({ finding, remedy }) => {
      const edit = editProvider(remedy, snapshot, details, wipes);
      return edit ? [{ ...edit, findings: [finding.code], reason: finding.explanation }] : [];
    });
  // A provider can only go once nothing is held of it; one that is in another's way has to go first.
  const isLast = ({ action, findings: [code] }: Edit) => action.kind === "delete-provider" && code !== "identity-clash";
  const ordered = [...edits.filter((edit) => !isLast(edit)), ...allocations, ...edits.filter(isLast)];
  const done = new Set(allocations.flatMap(({ action }) => consumersIn(action)));
  return {
    findings: findings.map((finding) => settle(finding, retained, done)),
    plan: { version: 1, cloud, edits: ordered },
  };
}

function settle(finding: Finding, retained: ReadonlySet<Finding>, done: ReadonlySet<string>): Finding {
  if (retained.has(finding)) {
    return {
      ...finding,
      remedies: [],
      left: "consumers hold something there that cannot be removed; see the other findings",
    };
  }
  const undone = finding.remedies.some((remedy) => !isProviderRemedy(remedy) && !done.has(remedy.consumer));
  return undone ? { ...finding, remedies: [], left: "its allocations could not be read; look again" } : finding;
}

const isProviderRemedy = (remedy: ConsumerRemedy | ProviderRemedy): remedy is ProviderRemedy => !("consumer" in remedy);

/** A provider that is to be deleted, although a consumer would still hold something of it after all other edits. */
function stillHeld(remedy: ProviderRemedy, { consumers }: Snapshot, edits: readonly DraftEdit[]): boolean {
  if (remedy.kind !== "delete-provider") {
    return false;
  }
  const after = new Map(
    edits.flatMap(({ action }) =>
      action.kind === "allocations"
        ? action.consumers.map(({ uuid, after: { allocations } }) => [uuid, allocations])
        : [],
    ),
  );
  return [...consumers.values()].some(({ uuid, held }) => remedy.uuid in (after.get(uuid) ?? held));
}

/** Writes that leave a consumer with nothing raise the generation of each provider that it had (spec 5.4). */
function countWipes(edits: readonly DraftEdit[]): ReadonlyMap<string, number> {
  const wipes = new Map<string, number>();
  for (const { action } of edits) {
    if (action.kind !== "allocations") {
      continue;
    }
    for (const { before, after } of action.consumers) {
      if (Object.keys(after.allocations).length > 0) {
        continue;
      }
      for (const uuid of Object.keys(before.allocations)) {
        wipes.set(uuid, (wipes.get(uuid) ?? 0) + 1);
      }
    }
  }
  return wipes;
}

function consumersIn(action: Action): readonly string[] {
  return action.kind === "allocations" ? action.consumers.map(({ uuid }) => uuid) : [];
}
