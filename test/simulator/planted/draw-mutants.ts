import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import type { Mutation } from "../../mutants/mutant.js";
import { findMutations } from "../../mutants/operators.js";
import { SourceTree } from "../../mutants/sources.js";
import { findStepOrders } from "./step-orders.js";

type MutantKind = "claim" | "compare-and-swap" | "lease" | "retry" | "order";

/** A mutation of a line that affects ownership. */
export interface DrawnMutation extends Mutation {
  readonly kind: MutantKind;
}

/** The kinds of mutations: a pattern for the file, and one for its lines. */
const KINDS: readonly (readonly [MutantKind, RegExp, RegExp])[] = [
  ["lease", /./, /leaseHeld|requireHostLease|isLeaseLost|HostLeaseLost/],
  ["compare-and-swap", /./, /expected(TaskState|VmState|Host|Status)|ofRequest|[gG]eneration\b/],
  ["retry", /placement|conductor|operations|startup/, /retry|retries|insist|attempts?\b|tries\b/],
  ["claim", /claim/i, /./],
];

/** Draws `count` mutations, with the same number of each kind as far as there are enough. */
export function drawMutants(root: URL, count: number, seed: string): readonly DrawnMutation[] {
  const tree = new SourceTree(fileURLToPath(root));
  const found = tree.mutated().flatMap((path) => mutationsOf(path, tree.text(path)));
  const lots = new Map(found.map((mutation) => [mutation, lotOf(mutation, seed)]));
  const byKind = new Map<MutantKind, DrawnMutation[]>();
  for (const mutation of found.sort((left, right) => ((lots.get(left) ?? "") < (lots.get(right) ?? "") ? -1 : 1))) {
    byKind.set(mutation.kind, [...(byKind.get(mutation.kind) ?? []), mutation]);
  }
  const drawn: DrawnMutation[] = [];
  for (let round = 0; drawn.length < count && round < found.length; round += 1) {
    drawn.push(...[...byKind.values()].flatMap((mutations) => mutations.slice(round, round + 1)));
  }
  return drawn.slice(0, count);
}

/** Matches fields that are only reported and have no effect. */
const REPORTING_ONLY = /^without (requestId|request_id)\b/;

function mutationsOf(path: string, text: string): DrawnMutation[] {
  const lines = text.split("\n");
  const mayHave =
    KINDS.some(([, files, pattern]) => files.test(path) && pattern.test(text)) || text.includes("stepList");
  if (!mayHave) {
    return [];
  }
  const candidates = findMutations(path, text).filter(
    ({ operator, change }) => operator !== "string" && !REPORTING_ONLY.test(change),
  );
  const ofLines = candidates.flatMap((mutation) => {
    const line = lines[mutation.line - 1] ?? "";
    const [kind] = KINDS.find(([, files, pattern]) => files.test(path) && pattern.test(line)) ?? [];
    return kind === undefined ? [] : [{ ...mutation, kind }];
  });
  return [...ofLines, ...findStepOrders(path, text).map((mutation) => ({ ...mutation, kind: "order" as const }))];
}

function lotOf({ path, operator, change, start }: Mutation, seed: string): string {
  return createHash("sha256").update([seed, path, operator, change, start].join("\n")).digest("hex");
}
