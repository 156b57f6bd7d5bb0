import { readDetails } from "./apply/provider-parts.js";
import { type Finding, keyOf } from "./checks/finding.js";
import { SnapshotIndex } from "./checks/inputs.js";
import { type CheckOptions, checkSnapshot } from "./checks/run-checks.js";
import type { Cloud } from "./cloud/open-cloud.js";
import type { ProviderDetails } from "./plan/edit-providers.js";
import { makePlan, type PlannedAudit } from "./plan/make-plan.js";
import { type ReadOptions, readSnapshot } from "./read/read-snapshot.js";
import type { Snapshot } from "./read/records.js";
import { lookAgain } from "./read/second-look.js";

export interface AuditOptions extends ReadOptions, CheckOptions {}

export interface Audit extends PlannedAudit {
  /** What was looked at. */
  readonly scope: AuditScope;
}

interface AuditScope {
  readonly servers: number;
  /** Servers that were not judged: they build, move or have just moved, their cell does not answer, or their compute node is not known. */
  readonly unchecked: number;
  readonly providers: number;
  readonly consumers: number;
}

/**
 * Reads the cloud twice and reports what is wrong both times, with the edits that would put it right. Changes nothing.
 * @throws {CloudError}
 */
export async function audit(cloud: Cloud, options: AuditOptions): Promise<Audit> {
  const first = await readSnapshot(cloud, options);
  const suspected = checkSnapshot(first, options);
  const second = suspected.length === 0 ? first : await lookAgain(cloud, first, suspectsOf(suspected), options);
  const before = new Set(suspected.map(keyOf));
  const confirmed = checkSnapshot(second, options).filter((finding) => before.has(keyOf(finding)));
  const details = await detailsFor(cloud, confirmed);
  return { ...makePlan(cloud.name, confirmed, second, details), scope: sizes(first, options) };
}

function suspectsOf(findings: readonly Finding[]) {
  return {
    consumers: new Set(
      findings.flatMap(({ subject: { kind, uuid } }) => (kind === "provider" || kind === "node" ? [] : [uuid])),
    ),
    providers: new Set(
      findings.flatMap(({ subject, provider }) => [subject.uuid, ...(provider ? [provider.uuid] : [])]),
    ),
  };
}

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
  const { servers, providers, consumers } = snapshot;
  const index = new SnapshotIndex(snapshot, moveTimeouts);
  const unchecked = [...servers.values()].filter(
    (server) => !index.isAtRest(server) || (server.host !== null && !index.nodeOf(server)),
  );
  return {
    servers: servers.size,
    unchecked: unchecked.length,
    providers: providers.size,
    consumers: consumers.size,
  };
}
