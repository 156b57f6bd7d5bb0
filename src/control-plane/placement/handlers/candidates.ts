import { badRequest } from "../../http/http-error.js";
import { type Schema, schemas } from "../../http/schemas.js";
import { candidateRecords, candidatesJson, rootRecords } from "../candidates/render.js";
import { type CandidatesRequest, parseCandidatesRequest } from "../candidates/request.js";
import { searchCandidates, searchRoots } from "../candidates/search.js";
import { type Call, type HandlerResponse, type PlacementRoute, route } from "../http/call.js";
import { translateErrors } from "../model.js";
import { GROUP_PATTERN, GROUP_PATTERN_1_33 } from "./shared-schemas.js";

const TEXT: Schema = { type: "string" };

/** A list, as in upstream's schema, because its error messages contain it. */
const TEXT_LIST: Schema = { type: ["string"] };

const LIMIT: Schema = { type: ["integer", "string"], pattern: "^[1-9][0-9]*$", minimum: 1, minLength: 1 };

const POLICY: Schema = { type: "string", enum: ["none", "isolate"] };

const KINDS = ["resources", "required", "member_of"];

const KINDS_1_31 = [...KINDS, "in_tree"];

const QUERY = schemas(
  [10, plain({ resources: TEXT })],
  [16, plain({ resources: TEXT, limit: LIMIT })],
  [17, plain({ resources: TEXT, limit: LIMIT, required: TEXT_LIST })],
  [21, plain({ resources: TEXT, limit: LIMIT, required: TEXT_LIST, member_of: TEXT_LIST })],
  [25, granular({}, GROUP_PATTERN, KINDS)],
  [31, granular({}, GROUP_PATTERN, KINDS_1_31)],
  [33, granular({}, GROUP_PATTERN_1_33, KINDS_1_31)],
  [35, granular({ root_required: TEXT_LIST }, GROUP_PATTERN_1_33, KINDS_1_31)],
  [36, granular({ root_required: TEXT_LIST, same_subtree: TEXT_LIST }, GROUP_PATTERN_1_33, KINDS_1_31)],
);

export const CANDIDATE_ROUTES: readonly PlacementRoute[] = [
  route("GET", "/allocation_candidates", "allocation_candidates:list", listCandidates, { since: 10 }),
];

/**
 * The first microversion that supports records: its summaries include complete trees, with all data that a scheduler
 * reads.
 */
const RECORDS_SINCE = 29;

function listCandidates(call: Call): HandlerResponse {
  call.checkQuery(QUERY);
  const request = parseCandidatesRequest(call);
  return translateErrors(() => findCandidates(call, request), {
    ResourceClassNotFound: (message) => badRequest(`Invalid resource class in resources parameter: ${message}`),
    TraitNotFound: badRequest,
  });
}

function findCandidates(call: Call, request: CandidatesRequest): HandlerResponse {
  const { state, tuning, minor, unit } = call;
  // A random choice needs the complete list.
  const limit = tuning.randomizeAllocationCandidates ? null : request.limit;
  const options = { ...tuning, nestedAware: minor >= 29, limit };
  const modified = unit.now;
  const records = call.request.takesRecords === true && minor >= RECORDS_SINCE;
  const flat = records ? searchRoots(state, request, options) : null;
  if (flat !== null) {
    const roots = take(call, flat.roots, request.limit);
    return { records: rootRecords(roots, flat.resources, `1.${minor}`), modified };
  }
  const found = take(call, searchCandidates(state, request, options), request.limit);
  if (records) {
    return { records: candidateRecords(found, `1.${minor}`), modified };
  }
  const requested = new Set(request.groups.flatMap(({ resources }) => [...resources.keys()]));
  return { body: candidatesJson(found, minor, state.nested > 0, requested), modified };
}

/** Returns at most `limit` candidates: the first ones, or a random choice with `randomize_allocation_candidates`. */
function take<T>(call: Call, candidates: Iterable<T>, limit: number | null): readonly T[] {
  if (call.tuning.randomizeAllocationCandidates) {
    const all = [...candidates];
    for (let i = all.length - 1; i > 0; i -= 1) {
      const j = call.random.integer(0, i);
      const [a, b] = [all[i], all[j]];
      if (a !== undefined && b !== undefined) {
        [all[i], all[j]] = [b, a];
      }
    }
    return limit === null ? all : all.slice(0, limit);
  }
  const found: T[] = [];
  for (const candidate of candidates) {
    found.push(candidate);
    if (found.length === limit) {
      break;
    }
  }
  return found;
}

function plain(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", properties, required: ["resources"], additionalProperties: false };
}

function granular(properties: Readonly<Record<string, Schema>>, group: string, kinds: readonly string[]): Schema {
  return {
    type: "object",
    properties: { limit: LIMIT, group_policy: POLICY, ...properties },
    additionalProperties: false,
    patternProperties: Object.fromEntries(kinds.map((kind) => [`^${kind}(${group})?$`, TEXT])),
  };
}
