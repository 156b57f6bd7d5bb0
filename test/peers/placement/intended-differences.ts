import { isDeepStrictEqual } from "node:util";
import { STANDARD_TRAITS } from "../../../src/control-plane/placement/standard-traits.js";
import type { Normalized } from "./normalize.js";
import type { Step } from "./step.js";

interface Comparison {
  readonly step: Step;
  /** The body as sent. */
  readonly sent: string | undefined;
  readonly embedded: Normalized;
  readonly real: Normalized;
}

export interface IntendedDifference {
  readonly what: string;
  /** Returns whether a failed comparison is this difference. */
  readonly holds: (comparison: Comparison) => boolean;
  /** The data of the two differs from here on, so the sequence ends. */
  readonly parts?: true;
}

/** All intended differences between the embedded Placement and Debian's 8.0.0. Any other difference is a failure. */
export const INTENDED_DIFFERENCES: readonly IntendedDifference[] = [
  {
    what: "8.0.0 refuses to change allocations on an overcommitted inventory; master lets them not grow",
    holds: ({ step, embedded, real }) =>
      step.method !== "GET" &&
      real.status === 409 &&
      detail(real).includes("The requested amount would exceed the capacity.") &&
      embedded.status === 204,
    parts: true,
  },
  {
    what: "os-traits of 8.0.0 is older: GET /traits lists fewer standard traits",
    holds: ({ step, embedded, real }) => {
      if (step.path !== "/traits" || embedded.status !== 200 || real.status !== 200) {
        return false;
      }
      const known = new Set(list(real, "traits"));
      const newer = list(embedded, "traits").filter((name) => !known.has(name));
      const gone = [...known].filter((name) => !list(embedded, "traits").includes(name));
      return gone.length === 0 && newer.every((name) => STANDARD_TRAITS.includes(String(name)));
    },
  },
  {
    what: "a duplicate inventory is a conflict; the real one quotes its database's error",
    holds: ({ embedded, real }) =>
      embedded.status === 409 &&
      real.status === 409 &&
      detail(embedded).includes("Update conflict: an inventory of this class exists") &&
      detail(real).includes("Update conflict: (sqlite3.IntegrityError) UNIQUE constraint failed: inventories."),
  },
  {
    what: "bug not copied: 500, or a check of its capacity, for something else than an inventory under a name that no resource class can have",
    holds: ({ embedded, real }) =>
      (real.status === 500 || detail(real).includes("Invalid inventory for")) &&
      embedded.status === 400 &&
      /(?:Unknown resource class in inventory|malformed reshaper data).*No such resource class (?:[^.]*[^A-Z0-9_.][^.]*)?\./.test(
        detail(embedded),
      ),
  },
  {
    what: "of several unknown traits in a query the real one names any",
    holds: ({ step, embedded, real }) => {
      const pattern = /No such trait\(s\): ([^.]*)\./;
      const named = [embedded, real].map((each) => pattern.exec(detail(each))?.[1]);
      const requestedTraits = step.query.map(([, value]) => value).join(",");
      return (
        embedded.status === 400 &&
        real.status === 400 &&
        named.every((name) => name !== undefined && requestedTraits.includes(name)) &&
        detail(embedded).replace(pattern, "") === detail(real).replace(pattern, "")
      );
    },
  },
  {
    what: "bug not copied: candidates' amounts are wrong when two groups ask for one class without group_policy=none",
    holds: ({ step, embedded, real }) => {
      if (!areCandidates(step, embedded, real) || step.query.some(([, value]) => value === "none")) {
        return false;
      }
      const classes = groups(step).flatMap(([, value]) => [
        ...new Set(value.split(",").map((each) => each.split(":")[0] ?? "")),
      ]);
      const repeated = new Set(classes.filter((name, index) => classes.indexOf(name) !== index));
      // Its amounts are sums that are too large, never too small, so some candidates no longer fit.
      return (
        repeated.size > 0 &&
        summariesWithin(real, embedded) &&
        list(real, "allocation_requests").every((wrong) =>
          list(embedded, "allocation_requests").some((right) => isInflated(wrong, right, repeated)),
        )
      );
    },
  },
  {
    what: "bug not copied: KeyError in GET /allocation_candidates with sharing providers",
    holds: ({ step, embedded, real }) =>
      step.path === "/allocation_candidates" &&
      embedded.status === 200 &&
      real.status === 500 &&
      /<br \/>|\n\n [0-9]+ {2}$/.test(detail(real)),
  },
  {
    what: "of equal requests of the unsuffixed group for several trees one is kept; for which tree is not defined",
    holds: ({ step, embedded, real }) => {
      if (!areCandidates(step, embedded, real)) {
        return false;
      }
      const suffixes = new Set(step.query.map(([key]) => /^(?:resources|required)(.*)$/.exec(key)?.[1]));
      suffixes.delete(undefined);
      const [found, known] = [new Set(requests(embedded)), new Set(requests(real))];
      // Only candidates whose sharing providers can serve several trees in the same way.
      const onlyShared = (response: Normalized) => (candidate: unknown) =>
        unsuffixedProviders(candidate).some((uuid) =>
          isSharing(member(member(response.body, "provider_summaries"), uuid)),
        );
      return (
        suffixes.has("") &&
        suffixes.size > 1 &&
        list(embedded, "allocation_requests").every(
          (each) => known.has(JSON.stringify(each)) || onlyShared(embedded)(each),
        ) &&
        list(real, "allocation_requests").every((each) => found.has(JSON.stringify(each)) || onlyShared(real)(each))
      );
    },
  },
  {
    what: "with limit, which candidates are kept is not defined",
    holds: ({ step, embedded, real }) => {
      const limit = Number(step.query.find(([key]) => key === "limit")?.[1]);
      return (
        step.path === "/allocation_candidates" &&
        embedded.status === 200 &&
        real.status === 200 &&
        requests(embedded).length === limit &&
        requests(real).length === limit
      );
    },
  },
];

function areCandidates(step: Step, embedded: Normalized, real: Normalized): boolean {
  return step.path === "/allocation_candidates" && embedded.status === 200 && real.status === 200;
}

/** Returns whether all summaries of one response are in the other, unchanged. */
function summariesWithin(some: Normalized, all: Normalized): boolean {
  const known = member(all.body, "provider_summaries");
  return Object.entries(member(some.body, "provider_summaries") ?? {}).every(([uuid, summary]) =>
    isDeepStrictEqual(summary, member(known, uuid)),
  );
}

/** Returns whether two values are equal except for amounts of some classes, of which the first has at least as much. */
function isInflated(wrong: unknown, right: unknown, classes: ReadonlySet<string>, key = ""): boolean {
  if (classes.has(key) && typeof wrong === "number" && typeof right === "number") {
    return wrong >= right;
  }
  if (typeof wrong !== "object" || wrong === null || typeof right !== "object" || right === null) {
    return wrong === right;
  }
  const entries = Object.entries(wrong);
  return (
    entries.length === Object.keys(right).length &&
    entries.every(([name, value]) => isInflated(value, member(right, name), classes, name))
  );
}

function isSharing(summary: unknown): boolean {
  const traits = member(summary, "traits");
  return Array.isArray(traits) && traits.includes("MISC_SHARES_VIA_AGGREGATE");
}

/**
 * Returns the providers of the unsuffixed group. Before 1.34, which does not return mappings, these are all of the
 * candidate's.
 */
function unsuffixedProviders(candidate: unknown): string[] {
  const mappings = member(candidate, "mappings");
  const found = mappings === undefined ? Object.keys(member(candidate, "allocations") ?? {}) : member(mappings, "");
  return Array.isArray(found) ? found.map(String) : [];
}

function groups(step: Step): (readonly [string, string])[] {
  return step.query.filter(([key]) => key.startsWith("resources"));
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
}

function list(response: Normalized, key: string): unknown[] {
  const found = member(response.body, key);
  return Array.isArray(found) ? found : [];
}

function requests(response: Normalized): string[] {
  return list(response, "allocation_requests").map((each) => JSON.stringify(each));
}

function detail(response: Normalized): string {
  const [first] = list(response, "errors");
  return String(member(first, "detail") ?? "");
}
