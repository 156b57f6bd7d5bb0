import { audit } from "../../src/audit/audit.js";
import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";
import { excusedConsumers, wrongAllocations, wrongProviders, wrongUsage } from "../chaos/oracle/allocations.js";
import { wrongNodes } from "../chaos/oracle/bare-metal.js";
import { lostDeletes } from "../chaos/oracle/deletes.js";
import { wrongFlavors } from "../chaos/oracle/flavors.js";
import { wrongGuests } from "../chaos/oracle/guests.js";
import { wrongStates } from "../chaos/oracle/last-words.js";
import { brokenPromises } from "../chaos/oracle/promises.js";
import { missingServices, notAtRest } from "../chaos/oracle/rest.js";
import { type Snapshot, snapshotOf } from "../chaos/oracle/snapshot.js";
import type { Violation } from "../chaos/violation.js";
import { portBreachesAtRest } from "../fixtures/invariants/ports.js";
import type { Stage } from "./actors.js";
import { serverValues, type Witness } from "./histories/witness.js";
import { cloudOf } from "./repairs.js";
import type { SimulatedCluster } from "./simulated-cluster.js";

/** Milliseconds. The audit ignores changes of the last minute, but here no operation is in progress. */
const AHEAD = 90_000;

/** A violation of a rule. */
export interface Breach extends Violation {
  /** An invariant of spec 9.1, or a rule for the final state. */
  readonly rule: string;
}

/** Checks the final state. The audit runs only if all other rules are fulfilled. */
export async function checkAtRest(
  cluster: SimulatedCluster,
  { runtime, witness, journal }: Pick<Stage, "runtime" | "witness" | "journal">,
  again: (uuid: string) => void,
): Promise<Breach[]> {
  const snapshot = await look(cluster, runtime);
  const hosts = cluster.hosts.map(({ name }) => name);
  const ironic = cluster.ironic.all.map(({ name }) => name);
  const { confirmWindow = 0 } = cluster.plan.deployment;
  const powerLoss = cluster.plan.steps.some(({ kind }) => kind === "machine");
  const resets = witness.requests.filter(({ what, outcome }) => what === "os-resetState" && outcome !== "refused");
  const reset = new Set(resets.map(({ server }) => server));
  const found = [
    ...breaches("nothing is stuck", notAtRest(snapshot, { nodesAreShared: ironic.length > 1 })),
    ...breaches("every host serves", missingServices(snapshot, [...hosts, ...ironic])),
    ...breaches("deletes are carried out", lostDeletes(snapshot, journal.deleted, again)),
    ...breaches("acknowledged work is complete", [
      ...brokenPromises(snapshot, witness.requests, { nobodyDies: !cluster.plan.deployment.repairs }),
      ...wrongFlavors(snapshot, witness.requests),
      ...wrongStates(snapshot, { powerLoss, confirms: confirmWindow > 0, reset }),
    ]),
    ...breaches("guests are where they belong", wrongGuests(snapshot, { powerLoss, reset })),
    ...breaches(
      "allocations are right",
      wrongAllocations(snapshot, { doubled: cluster.plan.deployment.doubled, nodesLeft: journal.nodesLeft }),
    ),
    ...breaches("providers are there", wrongProviders(snapshot, hosts)),
    ...breaches("nodes of Ironic are there", wrongNodes(snapshot, cluster.nodes, reset)),
    ...breaches("trackers count right", wrongUsage(snapshot)),
    ...breaches("ports belong to their servers", portBreachesAtRest(snapshot.store)),
  ];
  return found.length > 0
    ? found
    : breaches(
        "the audit finds nothing",
        await auditFindings(cluster, runtime, excusedConsumers(snapshot, journal.nodesLeft)),
      );
}

/**
 * Checked only in the final state. During a run, V20 assumes immediate responses, and V21 attributes all writes of an
 * agent during its tracker's pass to that pass.
 */
const AT_REST = /^V2[01] /;

/** Returns the violations that were observed during the run. */
export function checkSteps(cluster: SimulatedCluster): Breach[] {
  const broken = [...cluster.watch.evidence.breaches].filter((breach) => !AT_REST.test(breach));
  const invariants = broken.map((breach) => ({
    rule: breach.slice(0, breach.indexOf(" ")),
    subject: serverIn(breach),
    what: breach,
  }));
  const unexplained = cluster.unexplained.map((what) => ({ rule: "nothing ends by itself", subject: what, what }));
  const misplaced = [
    ...cluster.evacuations.broken.map((what) => ({ rule: "evacuations go to hosts in service", what })),
    ...cluster.evacuations.crowded.map((what) => ({ rule: "evacuations keep their group's policy", what })),
  ].map((breach) => ({ ...breach, subject: serverIn(breach.what) }));
  return [...invariants, ...unexplained, ...misplaced];
}

/** Returns the first server in the text, whose history the report includes. */
function serverIn(breach: string): string {
  return /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(breach)?.[0] ?? breach;
}

/** Returns the responses that no order of operations explains. */
export function checkHistories(cluster: SimulatedCluster, witness: Witness): Breach[] {
  if (cluster.controlPlaneRuns) {
    const { instances, services } = cluster.store;
    for (const { uuid, displayName: name, tags, locked, metadata } of instances.list({ deleted: false })) {
      witness.found(uuid, serverValues({ name, tags, locked, metadata }));
    }
    for (const { uuid, disabled, forcedDown } of services.list({ binary: "nova-compute" })) {
      witness.found(uuid, { disabled, forced_down: forcedDown });
    }
  }
  return [
    ...breaches("what was written is read", witness.unexplained()),
    ...breaches("no update is lost", [...cluster.writes.violations(), ...cluster.apiWatch.violations]),
  ];
}

async function look(cluster: SimulatedCluster, runtime: VirtualRuntime): Promise<Snapshot> {
  const guests = await Promise.all(cluster.hosts.map((host) => cluster.guestsOf(host, runtime)));
  return snapshotOf(cluster.store, guests.flat(), runtime.clock.now());
}

async function auditFindings(
  cluster: SimulatedCluster,
  runtime: VirtualRuntime,
  excused: ReadonlySet<string>,
): Promise<Violation[]> {
  const clock = { now: () => runtime.clock.now() + AHEAD };
  const cloud = await cloudOf({ cluster, runtime });
  const { findings } = await audit(cloud, { clock, maxShare: 1, thorough: true, onProgress: () => undefined });
  return findings
    .filter(({ subject }) => !excused.has(subject.uuid))
    .map(({ code, subject, explanation }) => ({
      subject: subject.uuid,
      what: `the audit finds ${code} of ${subject.kind} ${subject.name}: ${explanation}`,
    }));
}

function breaches(rule: string, violations: readonly Violation[]): Breach[] {
  return violations.map((violation) => ({ ...violation, rule }));
}
