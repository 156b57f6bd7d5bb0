import type { Attempt } from "../../../testing/attempt.js";
import type { HarnessMemory } from "../../../testing/harness-fixtures.js";
import type { WorkSubject } from "../../../testing/contract-case.js";
import type { Pair } from "../pair.js";

export interface CheckCommandOptions {
  readonly option?: readonly Pair[];
  readonly virtualTime?: true;
  readonly waive?: readonly Pair[];
  readonly with?: string;
  readonly only?: readonly string[];
  readonly limit: number;
  readonly verbose?: true;
  readonly json?: true;
}

/** One rule, or a part of one, to be shown in a folder. */
interface Task {
  readonly code: string;
  readonly folder: string;
  /** Methods that did not come back in an earlier rule: a rule that calls one ends there. */
  readonly hung: readonly string[];
}

/** The whole rule; or up to a kill and what comes after it; or the removal of what an ended process left. */
export type Order =
  | (Task & { readonly do: "rule" })
  | (Task & { readonly do: "begin"; readonly kill: KillMoment })
  | (Task & {
      readonly do: "look";
      readonly memory: HarnessMemory;
      readonly subject: WorkSubject;
      readonly killed: string;
    })
  | { readonly do: "clear"; readonly folder: string; readonly memory: HarnessMemory | null };

/** When a process is killed in its work: at a call of its doors, after a time, or at its end. */
export type KillMoment = { readonly call: number } | { readonly after: number } | "at its end";

/** What the process that checks is told. */
export type ToChild =
  | { readonly do: "open"; readonly driver: string; readonly options: CheckCommandOptions }
  | Order
  | { readonly do: "stop" };

/** What it says. */
export type FromChild =
  | {
      readonly is: "opened";
      readonly driver: string;
      readonly apiVersion: string;
      readonly kills: boolean;
      readonly canary: boolean;
    }
  | { readonly is: "refused"; readonly message: string }
  | { readonly is: "call"; readonly id: number; readonly method: string }
  | { readonly is: "back"; readonly id: number }
  | { readonly is: "placed"; readonly memory: HarnessMemory }
  | { readonly is: "begun"; readonly subject: WorkSubject; readonly memory: HarnessMemory }
  | { readonly is: "done"; readonly attempt: Attempt; readonly unreached: string | null }
  | { readonly is: "cleared"; readonly found: readonly string[] }
  | { readonly is: "fatal"; readonly text: string };
