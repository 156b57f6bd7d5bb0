import type { ConsumerRemedy, Finding } from "../checks/finding.js";
import type { Amounts, ConsumerRecord, Held, Snapshot } from "../read/records.js";
import type { ConsumerChange, ConsumerState, Edit } from "./plan.js";

export type DraftEdit = Edit;

interface RemedyRequest {
  readonly finding: Finding;
  readonly remedy: ConsumerRemedy;
}

/** One edit a consumer, whatever was found about it; consumers that hand something over share one. */
export function editConsumers(findings: readonly Finding[], { records }: Snapshot): DraftEdit[] {
  const groups = groupByConsumer(findings);
  return [...new Set(groups.values())].flatMap((requests) => {
    const consumers = [...new Set(requests.flatMap(({ remedy }) => consumersOf(remedy)))];
    const read = consumers.flatMap((uuid) => records.get(uuid) ?? []);
    if (read.length < consumers.length) {
      return [];
    }
    const changes = changesOf(
      read,
      requests.map(({ remedy }) => remedy),
    ).filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after));
    if (changes.length === 0) {
      return [];
    }
    const inverse = changes.map(({ uuid, generation, before, after }) => ({
      uuid,
      generation: holdsNothing(after) ? null : (generation ?? 0) + 1,
      before: after,
      after: before,
    }));
    return {
      findings: [...new Set(requests.map(({ finding }) => finding.code))],
      reason: [...new Set(requests.map(({ finding }) => finding.explanation))].join("; "),
      action: { kind: "allocations" as const, consumers: changes },
      inverse: { kind: "allocations" as const, consumers: inverse },
    };
  });
}

function consumersOf(remedy: ConsumerRemedy): readonly string[] {
  return remedy.kind === "take-over" ? [remedy.consumer, remedy.from] : [remedy.consumer];
}

/** Wishes by consumer; those that have a consumer in common are one list. */
function groupByConsumer(findings: readonly Finding[]): ReadonlyMap<string, RemedyRequest[]> {
  const groups = new Map<string, RemedyRequest[]>();
  for (const finding of findings) {
    for (const remedy of finding.remedies) {
      if (!("consumer" in remedy)) {
        continue;
      }
      const uuids = consumersOf(remedy);
      const joined = [...new Set(uuids.map((uuid) => groups.get(uuid) ?? []))].flat();
      joined.push({ finding, remedy });
      for (const { remedy: each } of joined) {
        for (const uuid of consumersOf(each)) {
          groups.set(uuid, joined);
        }
      }
    }
  }
  return groups;
}

interface Draft {
  held: Record<string, Amounts>;
  projectId: string | null;
  userId: string | null;
  type: string | null;
}

function changesOf(records: readonly ConsumerRecord[], remedies: readonly ConsumerRemedy[]): ConsumerChange[] {
  const drafts = new Map(records.map((record) => [record.uuid, { ...record, held: { ...record.held } } as Draft]));
  // What is handed over comes first: the other wishes are about what the consumer has then.
  const order = ["take-over", "clear", "drop", "hold", "own"];
  for (const remedy of remedies.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))) {
    const draft = drafts.get(remedy.consumer);
    if (draft) {
      edit(draft, remedy, drafts);
    }
  }
  return records.map((record) => ({
    uuid: record.uuid,
    generation: record.generation,
    before: stateOf(record),
    after: stateOf(drafts.get(record.uuid) ?? record),
  }));
}

function edit(draft: Draft, remedy: ConsumerRemedy, drafts: ReadonlyMap<string, Draft>): void {
  switch (remedy.kind) {
    case "take-over": {
      const from = drafts.get(remedy.from);
      if (!from) {
        return;
      }
      const { held, projectId, userId } = from;
      const type = from.type === "MIGRATION" ? "INSTANCE" : from.type;
      Object.assign(draft, { projectId, userId, type: draft.type ?? type, held });
      from.held = {};
      return;
    }
    case "clear":
      draft.held = {};
      return;
    case "drop":
      for (const uuid of remedy.providers) {
        delete draft.held[uuid];
      }
      return;
    case "hold": {
      const amounts = { ...draft.held[remedy.provider], ...remedy.amounts };
      const left = Object.entries(amounts).filter(([, amount]) => amount > 0);
      if (left.length > 0) {
        draft.held[remedy.provider] = Object.fromEntries(left);
      } else {
        delete draft.held[remedy.provider];
      }
      return;
    }
    case "own":
      draft.projectId = remedy.projectId;
      draft.userId = remedy.userId;
  }
}

function stateOf({
  held,
  projectId,
  userId,
  type,
}: Pick<ConsumerRecord, "held" | "projectId" | "userId" | "type">): ConsumerState {
  const allocations: Held = held;
  return Object.keys(held).length === 0
    ? { allocations, project_id: null, user_id: null, consumer_type: null }
    : { allocations, project_id: projectId, user_id: userId, consumer_type: type };
}

const holdsNothing = ({ allocations }: ConsumerState): boolean => Object.keys(allocations).length === 0;
