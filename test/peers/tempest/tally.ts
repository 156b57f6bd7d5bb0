import { KNOWN_FAILURES } from "./known-failures.js";
import type { TestResult } from "./tempest-worker.js";

/**
 * Groups of tests, with the minimum number that must pass. A lower number would withdraw a claim. Scenarios that log in to
 * guests through floating IPs are left out.
 */
const GROUPS: readonly (readonly [name: string, pattern: RegExp, least: number])[] = [
  ["tempest.api.compute", /^tempest\.api\.compute\./, 430],
  ["tempest.api.identity.v3", /^tempest\.api\.identity\.(admin\.)?v3\./, 120],
  ["tempest.api.image.v2", /^tempest\.api\.image\.v2\./, 70],
  ["tempest.api.network", /^tempest\.api\.network\./, 260],
  [
    "tempest.scenario",
    /^tempest\.scenario\.(?!test_(network_\w+ops|network_v6|security_groups_\w+|shelve_\w+|snapshot_\w+)\.)/,
    8,
  ],
];

/** Tests of a checkout that NEUTRON_TEMPEST_PLUGIN names. */
const PLUGIN: (typeof GROUPS)[number] = ["neutron_tempest_plugin.api", /^neutron_tempest_plugin\.api\./, 695];

const groups = (): typeof GROUPS => (process.env.NEUTRON_TEMPEST_PLUGIN ? [...GROUPS, PLUGIN] : GROUPS);

/** The result of a run. */
export interface RunSummary {
  readonly lines: readonly string[];
  readonly good: boolean;
}

export function inAnyGroup(test: string): boolean {
  return groups().some(([, pattern]) => pattern.test(test));
}

/** Fails a test that passed only because it expects a 404 and no service handles its path. */
function evaluateTest(each: TestResult): TestResult {
  const [request] = each.unserved;
  return each.result === "passed" && request !== undefined
    ? { ...each, result: "failed", why: `passes, since nobody serves ${request}` }
    : each;
}

/** @param complete all tests of the groups were to run */
export function tally(all: readonly TestResult[], complete: boolean): RunSummary {
  const results = all.map(evaluateTest);
  const lines = [...skips(results)];
  const unknown = results.filter(({ test, result }) => result === "failed" && reasonOf(test) === undefined);
  const better = results.filter(({ test, result }) => result === "passed" && reasonOf(test) !== undefined);
  lines.push(...better.map(({ test }) => `passes, and known-failures.ts says why it would fail: ${test}`));
  lines.push(...unknown.map(({ test, why }) => `failed: ${test}\n    ${why}`));
  let good = unknown.length === 0;
  for (const [name, pattern, least] of groups()) {
    const mine = results.filter(({ test }) => pattern.test(test));
    const count = (result: TestResult["result"]) => mine.filter((each) => each.result === result).length;
    const known = mine.filter(({ test, result }) => result === "failed" && reasonOf(test)).length;
    const passed = count("passed");
    if (mine.length > 0) {
      lines.push(`${name}: ${passed} passed, ${count("failed")} failed (${known} known), ${count("skipped")} skipped`);
    }
    if (complete && passed < least) {
      lines.push(`${name}: at least ${least} have to pass`);
      good = false;
    }
  }
  return { lines, good };
}

function reasonOf(test: string): string | undefined {
  return KNOWN_FAILURES.find(([pattern]) => pattern.test(test))?.[1];
}

/** Counts skipped tests by reason; parts of reasons that differ between classes are removed. */
function skips(results: readonly TestResult[]): readonly string[] {
  const reasons = new Map<string, number>();
  for (const { result, why } of results) {
    if (result === "skipped") {
      const reason = why.replace(/^\w+ skipped as /, "");
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
  }
  return [...reasons]
    .toSorted(([, left], [, right]) => right - left)
    .map(([reason, count]) => `${String(count).padStart(4)} skipped: ${reason}`);
}
