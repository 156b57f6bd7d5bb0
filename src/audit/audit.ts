import {
  doubledAllocations,
  missingAllocations,
  wrongAmounts,
  wrongOwners,
  wrongProviders,
} from "./checks/allocation-checks.js";
import { CODES, type Finding, keyOf } from "./checks/finding.js";
import { type MoveTimeouts, SnapshotIndex } from "./checks/inputs.js";
import { overcommittedInventories, staleInventories } from "./checks/inventory-checks.js";
import { leftGuests, unfinishedEvacuations, unfinishedMigrations } from "./checks/migration-checks.js";
import { wrongPorts } from "./checks/port-checks.js";
import { identityClashes, nodesWithoutProvider, providersWithoutNode } from "./checks/provider-checks.js";
import { whereabouts } from "./checks/server-allocations.js";
import { unknownConsumers } from "./checks/unknown-consumers.js";
import { wrongVolumes } from "./checks/volume-checks.js";
import type { Cloud } from "./cloud/open-cloud.js";
import { readDetails } from "./plan/apply-plan.js";
import { makePlan, type PlannedAudit, type ProviderDetails } from "./plan/make-plan.js";
import { lookAgain, type ReadOptions, readSnapshot } from "./read/read-snapshot.js";
import type { Snapshot } from "./read/records.js";

interface CheckOptions {
  /** 0..1: the largest share of a provider's consumers, or of all, that may be reported as orphaned at once. */
  readonly maxShare: number;
  /** Default: {@link DEFAULT_MOVE_TIMEOUTS}. */
  readonly moveTimeouts?: MoveTimeouts;
}

export interface AuditOptions extends ReadOptions, CheckOptions {}

export interface Audit extends PlannedAudit {
  /** Counts of the checked objects. */
  readonly scope: AuditScope;
}

interface AuditScope {
  readonly servers: number;
  /**
   * Servers that were not checked: they are building or moving, have just moved, their cell does not respond, or their
   * compute node is unknown.
   */
  readonly unchecked: number;
  readonly providers: number;
  readonly consumers: number;
  /** The ports of servers; null if the cloud has no Network service, so that none was checked. */
  readonly ports: number | null;
  /** Null if the cloud has no Block Storage service. */
  readonly volumes: number | null;
}

/**
 * Reads the cloud twice and reports the problems found both times, with the edits that would fix them. Changes nothing.
 * @throws {AuditError}
 */
export async function audit(cloud: Cloud, options: AuditOptions): Promise<Audit> {
  const first = await readSnapshot(cloud, options);
  const suspected = checkSnapshot(first, options);
  const second = suspected.length === 0 ? first : await lookAgain(cloud, first, suspectsOf(suspected, first), options);
  const before = new Set(suspected.map(keyOf));
  const confirmed = checkSnapshot(second, options).filter((finding) => before.has(keyOf(finding)));
  const details = await detailsFor(cloud, confirmed);
  return { ...makePlan(cloud.name, confirmed, second, details), scope: sizes(first, options) };
}

function suspectsOf(findings: readonly Finding[], { ports, volumes }: Snapshot) {
  const subjects = new Set(findings.map(({ subject: { uuid } }) => uuid));
  const suspected = [...(ports?.values() ?? [])].filter(
    ({ id, device_id: device }) => subjects.has(id) || subjects.has(device),
  );
  const concerned = new Set(findings.flatMap(({ subject, provider }) => [subject.uuid, provider?.uuid ?? ""]));
  const suspectedVolumes = [...(volumes?.values() ?? [])].filter(({ id }) => concerned.has(id));
  const serversOfVolumes = suspectedVolumes.flatMap(({ attachments }) =>
    attachments.flatMap(({ server }) => server ?? []),
  );
  return {
    consumers: new Set(findings.flatMap(({ subject: { kind, uuid } }) => (NO_CONSUMERS.includes(kind) ? [] : [uuid]))),
    ports: suspected.map(({ id }) => id),
    volumes: suspectedVolumes.map(({ id }) => id),
    servers: [...new Set([...suspected.map(({ device_id: device }) => device), ...serversOfVolumes])],
    providers: new Set(
      findings.flatMap(({ subject, provider }) => [subject.uuid, ...(provider ? [provider.uuid] : [])]),
    ),
  };
}

/** Kinds of subjects without allocations of their own. */
const NO_CONSUMERS: readonly Finding["subject"]["kind"][] = ["provider", "node", "port", "volume", "attachment"];

async function detailsFor(
  { placement }: Cloud,
  findings: readonly Finding[],
): Promise<ReadonlyMap<string, ProviderDetails>> {
  const details = new Map<string, ProviderDetails>();
  for (const remedy of findings.flatMap(({ remedies }) => remedies)) {
    if (remedy.kind === "delete-provider") {
      details.set(remedy.uuid, await readDetails(placement, remedy.uuid));
    }
  }
  return details;
}

function sizes(snapshot: Snapshot, { moveTimeouts }: CheckOptions): AuditScope {
  const { servers, providers, consumers, ports, volumes } = snapshot;
  const index = new SnapshotIndex(snapshot, moveTimeouts);
  const unchecked = [...servers.values()].filter(
    (server) => !index.isAtRest(server) || (server.host !== null && !index.nodeOf(server)),
  );
  return {
    servers: servers.size,
    unchecked: unchecked.length,
    providers: providers.size,
    consumers: consumers.size,
    ports: ports === null ? null : ports.size,
    volumes: volumes === null ? null : volumes.size,
  };
}

/** Returns all problems of a snapshot, sorted by code. @internal */
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
    ...wrongPorts(index, maxShare),
    ...wrongVolumes(index, maxShare),
  ].toSorted(
    (one, other) => CODES.indexOf(one.code) - CODES.indexOf(other.code) || keyOf(one).localeCompare(keyOf(other)),
  );
}
