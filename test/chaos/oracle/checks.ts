import { portBreachesAtRest } from "../../fixtures/invariants/ports.js";
import type { Violation } from "../violation.js";
import type { World } from "../world.js";
import { excusedConsumers, wrongAllocations, wrongProviders, wrongUsage } from "./allocations.js";
import { auditFindings } from "./audit.js";
import { lostDeletes } from "./deletes.js";
import { wrongFlavors } from "./flavors.js";
import { wrongGuests } from "./guests.js";
import { wrongStates } from "./last-words.js";
import { newBugsInLogs } from "./logs.js";
import { brokenPromises } from "./promises.js";
import { missingServices, notAtRest } from "./rest.js";
import { withSnapshot } from "./snapshot.js";

/** Conditions that must be true when everything is at rest. */
export const CHECKS = [
  "nothing is stuck",
  "every host serves",
  "deletes are carried out",
  "acknowledged work is complete",
  "guests are where they belong",
  "allocations are right",
  "providers are there",
  "trackers count right",
  "ports belong to their servers",
  "the audit finds nothing",
  "nothing ended or failed by itself",
] as const;
export type Check = (typeof CHECKS)[number];

export type Findings = Readonly<Record<Check, readonly Violation[]>>;

/** @param again called with servers whose delete was stopped by a fault */
export async function runChecks(world: World, again: (uuid: string) => void): Promise<Findings> {
  world.violations.push(...newBugsInLogs(world));
  const hosts = world.hosts.map(({ name }) => name);
  const { found, excused } = await withSnapshot(world, (snapshot) => ({
    found: {
      "nothing is stuck": notAtRest(snapshot),
      "every host serves": missingServices(snapshot, hosts),
      "deletes are carried out": lostDeletes(snapshot, world.journal.deleted, again),
      "acknowledged work is complete": [
        ...brokenPromises(snapshot, world.requests),
        ...wrongFlavors(snapshot, world.requests),
        ...wrongStates(snapshot),
      ],
      "guests are where they belong": wrongGuests(snapshot),
      "allocations are right": wrongAllocations(snapshot),
      "providers are there": wrongProviders(snapshot, hosts),
      "trackers count right": wrongUsage(snapshot),
      "ports belong to their servers": portBreachesAtRest(snapshot.store),
    },
    excused: excusedConsumers(snapshot),
  }));
  return {
    ...found,
    // Run only when all other checks pass, since it covers the same state through the public APIs.
    "the audit finds nothing": Object.values(found).flat().length === 0 ? await auditFindings(world, excused) : [],
    "nothing ended or failed by itself": world.violations,
  };
}
