import { badRequest } from "../../http/http-error.js";
import { MAX_REQUEST_GROUPS } from "../../http/listener-limits.js";
import { compareText, repr } from "../../python/repr.js";
import {
  type AggregateFilter,
  inTree,
  memberOf,
  parseTraits,
  resources,
  type TraitFilter,
  traits,
} from "../handlers/filters.js";
import { GROUP_PATTERN, GROUP_PATTERN_1_33 } from "../handlers/shared-schemas.js";
import type { Call } from "../http/call.js";
import { ErrorCode } from "../http/errors.js";

/** The request group of the parameters that have the same suffix. */
export interface RequestGroup {
  /**
   * If empty, several providers of one tree and sharing providers may satisfy the group; otherwise a single provider
   * must.
   */
  readonly suffix: string;
  readonly resources: ReadonlyMap<string, number>;
  readonly traits: TraitFilter;
  readonly aggregates: AggregateFilter;
  /** The UUID of a provider of the tree that must satisfy the group. */
  readonly inTree: string | null;
}

/** The parsed query of GET /allocation_candidates. */
export interface CandidatesRequest {
  /** In the order of the query string. */
  readonly groups: readonly RequestGroup[];
  readonly limit: number | null;
  readonly isolate: boolean;
  /** Traits of the root provider. */
  readonly root: TraitFilter;
  /**
   * For each `same_subtree` parameter: the suffixes of groups of which one provider must be an ancestor of all the
   * others.
   */
  readonly sameSubtrees: readonly ReadonlySet<string>[];
}

const KINDS = "resources|required|member_of|in_tree";
const KEY = new RegExp(`^(${KINDS})(${GROUP_PATTERN})?$`);
const KEY_1_33 = new RegExp(`^(${KINDS})(${GROUP_PATTERN_1_33})?$`);

/** @throws {HttpError} 400 */
export function parseCandidatesRequest(call: Call): CandidatesRequest {
  const { query } = call;
  const limit = query.all("limit")[0];
  const policy = query.all("group_policy")[0];
  const root = rootTraits(call);
  const sameSubtrees = query.all("same_subtree").map((value) => {
    const suffixes = new Set(value.split(",").map((part) => part.trim()));
    if (suffixes.has("")) {
      throw badRequest(
        "Empty string (unsuffixed group) can not be specified in `same_subtree` ",
        ErrorCode.badQueryValue,
      );
    }
    return suffixes;
  });
  const groups = parseGroups(call);
  if (call.minor >= 36) {
    checkSubtrees(groups, sameSubtrees);
  } else {
    checkOrphans(groups);
  }
  if (call.minor >= 22) {
    checkForbidden(groups);
  }
  if (policy === undefined && groups.filter(({ suffix }) => suffix !== "").length > 1) {
    throw badRequest(
      'The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.',
    );
  }
  return {
    groups,
    limit: limit === undefined ? null : Number(limit),
    isolate: policy === "isolate",
    root,
    sameSubtrees,
  };
}

function rootTraits(call: Call): TraitFilter {
  const [text, another] = call.query.all("root_required");
  if (another !== undefined) {
    throw badRequest("Query parameter 'root_required' may be specified only once.", ErrorCode.duplicateQueryKey);
  }
  if (text === undefined) {
    return { required: [], forbidden: new Set() };
  }
  const parsed = parseTraits(text, true, false);
  const conflicts = parsed.required.flatMap((any) => [...any]).filter((trait) => parsed.forbidden.has(trait));
  if (conflicts.length > 0) {
    throw badRequest(
      `Conflicting required and forbidden traits found in root_required: ${[...new Set(conflicts)].join(", ")}`,
      ErrorCode.badQueryValue,
    );
  }
  return parsed;
}

const NOTHING = {
  resources: new Map<string, number>(),
  traits: { required: [], forbidden: new Set<string>() },
  aggregates: { required: [], forbidden: new Set<string>() },
  inTree: null,
};

function parseGroups(call: Call): RequestGroup[] {
  const groups = new Map<string, RequestGroup>();
  for (const [key, value] of call.query.entries) {
    const match = (call.minor >= 33 ? KEY_1_33 : KEY).exec(key);
    if (match === null) {
      continue;
    }
    const suffix = match[2] ?? "";
    const group = groups.get(suffix) ?? { suffix, ...NOTHING };
    if (!groups.has(suffix) && groups.size === MAX_REQUEST_GROUPS) {
      throw badRequest(`A request has at most ${MAX_REQUEST_GROUPS} groups.`, ErrorCode.badQueryValue);
    }
    groups.set(suffix, { ...group, ...parsePart(call, match[1] ?? "", suffix, value) });
  }
  return [...groups.values()];
}

function parsePart(call: Call, kind: string, suffix: string, value: string): Partial<RequestGroup> {
  if (kind === "resources") {
    return { resources: resources(value) };
  }
  if (kind === "required") {
    return { traits: traits(call, suffix) };
  }
  if (kind === "member_of") {
    return { aggregates: memberOf(call, suffix) };
  }
  return { inTree: inTree(value) };
}

function checkSubtrees(groups: readonly RequestGroup[], sameSubtrees: readonly ReadonlySet<string>[]): void {
  const resourceless = groups.filter((group) => group.resources.size === 0).map(({ suffix }) => suffix);
  const suffixes = groups.map(({ suffix }) => suffix);
  const named = new Set(sameSubtrees.flatMap((each) => [...each]));
  if (resourceless.length === groups.length) {
    throw badRequest("There must be at least one resources or resources[$S] parameter.", ErrorCode.missingQueryValue);
  }
  const loose = resourceless.filter((suffix) => !named.has(suffix));
  if (loose.length > 0) {
    throw badRequest(
      `Resourceless suffixed group request should be specified in \`same_subtree\` query param: bad group(s) - ${repr(loose)}.`,
      ErrorCode.badQueryValue,
    );
  }
  const unknown = [...named].filter((suffix) => !suffixes.includes(suffix));
  if (unknown.length > 0) {
    throw badRequest(
      `Real suffixes should be specified in \`same_subtree\`: ${repr(unknown)} not found in ${repr(suffixes)}.`,
      ErrorCode.badQueryValue,
    );
  }
}

/** Checks that each group requests resources, as microversions before 1.36 require. */
function checkOrphans(groups: readonly RequestGroup[]): void {
  const without = groups.filter((group) => group.resources.size === 0);
  const keys = (kind: string, filter: (group: RequestGroup) => boolean) =>
    without
      .filter(filter)
      .map(({ suffix }) => kind + suffix)
      .join(", ");
  const traitKeys = keys("required", (group) => group.traits.required.length > 0);
  if (traitKeys !== "") {
    throw badRequest(
      `All traits parameters must be associated with resources.  Found the following orphaned traits keys: ${traitKeys}`,
    );
  }
  const aggregateKeys = keys(
    "member_of",
    ({ aggregates }) => aggregates.required.length > 0 || aggregates.forbidden.size > 0,
  );
  if (aggregateKeys !== "") {
    throw badRequest(
      `All member_of parameters must be associated with resources. Found the following orphaned member_of keys: ${aggregateKeys}`,
    );
  }
  if (without.length > 0) {
    throw badRequest("All request groups must specify resources.");
  }
  if (groups.length === 0) {
    throw badRequest("At least one request group (`resources` or `resources{$S}`) is required.");
  }
}

function checkForbidden(groups: readonly RequestGroup[]): void {
  const conflicts = groups.flatMap(({ suffix, traits: { required, forbidden } }) =>
    required
      .filter((any) => [...any].every((trait) => forbidden.has(trait)))
      .map((any) => `required${suffix}: (${[...any].sort(compareText).join(", ")})`),
  );
  if (conflicts.length === 0) {
    return;
  }
  const listed = conflicts.sort(compareText).join(", ");
  throw badRequest(`Conflicting required and forbidden traits found in the following traits keys: ${listed}`);
}
