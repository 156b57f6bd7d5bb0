import type { Accepted } from "./mutant.js";

const operations = (path: string): string => `src/agent/operations/${path}.ts`;

/** Flows that use an empty string if a record has no host or node. In these flows, records always have them. */
const NOBODY = [
  "build/rebuild-in-place",
  "cold-move/confirm-resize",
  "cold-move/move-request",
  "cold-move/prep-resize",
  "recover-cold-moves",
  "cold-move/resize-instance",
  "cold-move/revert-resize",
  "live-migration/checks",
  "live-migration/control",
];

/** Accepted mutants of the agent's folders. */
export const ACCEPTED_IN_AGENT: readonly Accepted[] = [
  ...NOBODY.map((path) => ({
    path: operations(path),
    operator: "string",
    change: '"" → "mutant"',
    reason: "an empty text stands for what a record lacks, or for what is not known yet: any other names nobody, too",
  })),
  {
    path: operations("recover-cold-moves"),
    operator: "operator",
    change: "migration.id > latest.id → migration.id >= latest.id",
    reason: "no two migrations have one id",
  },
  {
    path: operations("live-migration/finish-migration"),
    operator: "operator",
    change: "move.id > migration.id → move.id >= migration.id",
    reason: "the migration itself is a live one from this host, and matches nothing of what follows",
  },
  {
    path: operations("live-migration/live-migration"),
    operator: "condition",
    change: "vmState → true",
    reason: "who reads the end asks whether there is a vm_state",
  },
  {
    path: "src/agent/startup/init-instance.ts",
    operator: "property",
    change: "without instance: instance.uuid",
    reason: "fields of lines of the log",
  },
  {
    path: "src/agent/startup/register-service.ts",
    operator: "string",
    change: '", " → ""',
    reason: "it parts names in a text for people",
  },
  {
    path: "src/agent/evacuation/plan.ts",
    operator: "operator",
    change: "move.id > id → move.id >= id",
    reason: "the one with this id is an evacuation, which is left out by its type",
  },
  {
    path: "src/agent/tracker/usage.ts",
    operator: "operator",
    change: "left < right → left <= right",
    reason: "no two statistics have one key",
  },
];
