import type { ConsumerRemedy, Finding, PortRemedy, ProviderRemedy, Remedy, VolumeRemedy } from "../checks/finding.js";
import type { Amounts, ConsumerRecord, Held, Provider, Snapshot } from "../read/records.js";
import type { Action, ConsumerChange, ConsumerState, Edit, Plan, ProviderState } from "./plan.js";

/** Data that must be read before a provider is deleted, so that the deletion can be undone. */
export interface ProviderDetails {
  readonly traits: readonly string[];
  readonly aggregates: readonly string[];
}

interface RemedyRequest {
  readonly finding: Finding;
  readonly remedy: ConsumerRemedy;
}

interface Draft {
  held: Record<string, Amounts>;
  projectId: string | null;
  userId: string | null;
  type: string | null;
}

const holdsNothing = ({ allocations }: ConsumerState): boolean => Object.keys(allocations).length === 0;

export interface PlannedAudit {
  /** The findings. If no correct edit is possible, `left` explains why. */
  readonly findings: readonly Finding[];
  readonly plan: Plan;
}

/** @param details of the providers to delete, by uuid */
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
  // A provider can be deleted only when it has no allocations. One that conflicts with another must be deleted first.
  const isLast = ({ action, findings: [code] }: Edit) => action.kind === "delete-provider" && code !== "identity-clash";
  const ports = editPorts(findings, snapshot);
  const volumes = editVolumes(findings, snapshot);
  const ordered = [
    ...edits.filter((edit) => !isLast(edit)),
    ...allocations,
    ...edits.filter(isLast),
    ...ports,
    ...volumes,
  ];
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
      left: "it has allocations that cannot be removed; see the other findings",
    };
  }
  const undone = finding.remedies.some((remedy) => "consumer" in remedy && !done.has(remedy.consumer));
  return undone
    ? { ...finding, remedies: [], left: "its allocations could not be read; run the audit again" }
    : finding;
}

function isProviderRemedy(remedy: Remedy): remedy is ProviderRemedy {
  return !("consumer" in remedy || "port" in remedy || "volume" in remedy);
}

/**
 * Returns the edits of ports. Leftover bindings are deleted first: a port cannot be bound to a host where it has an
 * inactive binding.
 */
function editPorts(findings: readonly Finding[], snapshot: Snapshot): Edit[] {
  const edits = findings.flatMap((finding) =>
    finding.remedies
      .filter((remedy) => "port" in remedy)
      .flatMap((remedy) => {
        const edit = editPort(remedy, snapshot);
        return edit ? [{ findings: [finding.code], reason: finding.explanation, ...edit }] : [];
      }),
  );
  const isBinding = ({ action }: Edit) => action.kind === "delete-binding";
  return [...edits.filter(isBinding), ...edits.filter((edit) => !isBinding(edit))];
}

/** Returns undefined if the port no longer exists. */
function editPort(remedy: PortRemedy, { ports }: Snapshot): Pick<Edit, "action" | "inverse"> | undefined {
  if (remedy.kind === "delete-binding") {
    const { port, binding } = remedy;
    return { action: remedy, inverse: { kind: "create-binding", port, binding } };
  }
  const port = ports?.get(remedy.port);
  if (port === undefined) {
    return undefined;
  }
  const before = { device_id: port.device_id, device_owner: port.device_owner, host: port.host };
  const after = { device_id: remedy.device_id, device_owner: remedy.device_owner, host: remedy.host };
  return {
    action: { kind: "set-port", uuid: remedy.port, before, after },
    inverse: { kind: "set-port", uuid: remedy.port, before: after, after: before },
  };
}

/** Returns the edits of volumes. A volume has at most one finding with an edit of its status, and none of its attachments then. */
function editVolumes(findings: readonly Finding[], snapshot: Snapshot): Edit[] {
  return findings.flatMap((finding) =>
    finding.remedies
      .filter((remedy) => "volume" in remedy)
      .map((remedy) => ({
        findings: [finding.code],
        reason: finding.explanation,
        ...editVolume(remedy, snapshot),
      })),
  );
}

function editVolume(remedy: VolumeRemedy, { volumes }: Snapshot): Pick<Edit, "action" | "inverse"> {
  if (remedy.kind === "delete-attachment") {
    const reason = "a deleted attachment cannot be restored";
    return { action: remedy, inverse: { kind: "irreversible", uuid: remedy.attachment, reason } };
  }
  const { volume: uuid, status: after } = remedy;
  const before = volumes?.get(uuid)?.status ?? "";
  return {
    action: { kind: "set-volume", uuid, before, after },
    inverse:
      before === "in-use"
        ? { kind: "irreversible", uuid, reason: "a volume without an attachment cannot be set to in-use" }
        : { kind: "set-volume", uuid, before: after, after: before },
  };
}

/** Returns whether a provider to delete would still have allocations after all other edits. */
function stillHeld(remedy: ProviderRemedy, { consumers }: Snapshot, edits: readonly Edit[]): boolean {
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

/**
 * Counts the writes that remove all allocations of a consumer. Each raises the generation of every provider involved
 * (spec 5.4).
 */
function countWipes(edits: readonly Edit[]): ReadonlyMap<string, number> {
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

/**
 * Returns one edit per consumer, whatever was found about it. Consumers between which allocations are transferred share
 * one edit.
 */
function editConsumers(findings: readonly Finding[], { records }: Snapshot): Edit[] {
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

/** Groups remedies by consumer. Remedies with a common consumer are in one list. */
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

function changesOf(records: readonly ConsumerRecord[], remedies: readonly ConsumerRemedy[]): ConsumerChange[] {
  const drafts = new Map(records.map((record) => [record.uuid, { ...record, held: { ...record.held } } as Draft]));
  // Transfers come first, since the other remedies assume the allocations after them.
  const order = ["take-over", "clear", "drop", "hold", "own"];
  for (const remedy of remedies.toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))) {
    const draft = drafts.get(remedy.consumer);
    if (draft) {
      applyRemedy(draft, remedy, drafts);
    }
  }
  return records.map((record) => ({
    uuid: record.uuid,
    generation: record.generation,
    before: consumerStateOf(record),
    after: consumerStateOf(drafts.get(record.uuid) ?? record),
  }));
}

function applyRemedy(draft: Draft, remedy: ConsumerRemedy, drafts: ReadonlyMap<string, Draft>): void {
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

function consumerStateOf({
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

/**
 * Returns undefined if the provider no longer exists. @param wipes increments of the provider's generation by earlier
 * edits of the plan
 */
function editProvider(
  remedy: ProviderRemedy,
  { providers }: Snapshot,
  details: ReadonlyMap<string, ProviderDetails>,
  wipes: ReadonlyMap<string, number>,
): Pick<Edit, "action" | "inverse"> | undefined {
  const { uuid } = remedy;
  if (remedy.kind === "create-provider") {
    const made: ProviderState = { uuid, name: remedy.name, parent: null, inventories: {}, traits: [], aggregates: [] };
    return {
      action: { kind: "create-provider", provider: made },
      inverse: { kind: "delete-provider", generation: 0, provider: made },
    };
  }
  const provider = providers.get(uuid);
  if (!provider) {
    return undefined;
  }
  const { generation, name, inventories } = provider;
  switch (remedy.kind) {
    case "rename-provider":
      return {
        action: { kind: "rename-provider", uuid, generation, before: name, after: remedy.name },
        inverse: { kind: "rename-provider", uuid, generation: null, before: remedy.name, after: name },
      };
    case "set-inventories":
      return {
        action: { kind: "set-inventories", uuid, generation, before: inventories, after: remedy.inventories },
        inverse: { kind: "set-inventories", uuid, generation: null, before: remedy.inventories, after: inventories },
      };
    case "delete-provider": {
      const state = providerStateOf(provider, details.get(uuid));
      return {
        action: { kind: "delete-provider", generation: generation + (wipes.get(uuid) ?? 0), provider: state },
        inverse: { kind: "create-provider", provider: state },
      };
    }
  }
}

function providerStateOf(
  { uuid, name, parent, inventories }: Provider,
  { traits, aggregates }: ProviderDetails = { traits: [], aggregates: [] },
): ProviderState {
  return { uuid, name, parent, inventories, traits, aggregates };
}
