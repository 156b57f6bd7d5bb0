import type { Instance, Migration } from "../../records/index.js";
import type { NodeName } from "./usage.js";

/** What is known of one consumer that holds something on a node's root provider. */
export interface ConsumerInputs {
  readonly uuid: string;
  readonly where: NodeName;
  /** Counted on the node in this pass. */
  readonly tracked: boolean;
  /** The uuid of a migration of the node that is in progress or in error. */
  readonly migration: boolean;
  /** Deleted ones too; null: no such instance. */
  readonly instance: Instance | null;
  /** A move that the consumer is, of an instance that was deleted some time ago. */
  readonly leftMove: Migration | null;
}

export interface CleanupResult {
  /** Row of the table in spec 4.6. */
  readonly row: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;
  readonly action: "keep" | "delete" | "report-moved" | "end-move";
  readonly log?: { readonly level: "debug" | "info" | "warn"; readonly message: string };
}

interface CleanupRow {
  readonly row: CleanupResult["row"];
  readonly when: (inputs: ConsumerInputs) => boolean;
  readonly action: CleanupResult["action"];
  readonly log?: (inputs: ConsumerInputs) => CleanupResult["log"];
}

/** Spec 4.6: the first row that matches wins. */
const ROWS: readonly CleanupRow[] = [
  { row: 1, when: ({ tracked }) => tracked, action: "keep" },
  { row: 2, when: ({ migration }) => migration, action: "keep" },
  {
    row: 3,
    when: ({ leftMove }) => leftMove !== null,
    action: "end-move",
    log: ({ leftMove }) => ({
      level: "info",
      message: `${leftMove?.migrationType} ${leftMove?.id} was left ${leftMove?.status}, and its instance is deleted: its allocations are removed`,
    }),
  },
  {
    row: 3,
    when: ({ instance }) => instance === null,
    action: "keep",
    log: () => ({
      level: "info",
      message: "consumer is no known instance: it is being scheduled, archived, or a leaked migration; kept",
    }),
  },
  {
    row: 4,
    when: ({ instance }) => instance !== null && instance.deleted !== 0 && !instance.hidden,
    action: "delete",
    log: () => ({ level: "info", message: "instance is deleted: its allocations are removed" }),
  },
  { row: 5, when: ({ instance }) => instance?.host === null, action: "keep" },
  {
    row: 6,
    when: ({ instance, where }) => instance?.host === where.host && instance.node === where.node,
    action: "keep",
    log: ({ instance }) => ({
      level: instance?.taskState ? "debug" : "warn",
      message: "instance is on this node and not counted by the tracker; its allocations are kept",
    }),
  },
  {
    row: 7,
    when: ({ instance, where }) => instance?.host !== where.host,
    action: "report-moved",
    log: ({ instance }) => ({
      level: "warn",
      message: `instance is on host ${instance?.host} and still holds allocations here; they are kept`,
    }),
  },
  { row: 8, when: () => true, action: "keep" },
];

/** What becomes of the consumer's allocations (spec 4.6). */
export function checkConsumer(inputs: ConsumerInputs): CleanupResult {
  for (const { row, when, action, log } of ROWS) {
    if (!when(inputs)) {
      continue;
    }
    const entry = log?.(inputs);
    return entry ? { row, action, log: entry } : { row, action };
  }
  throw new TypeError("the last row of the table matches everything");
}
