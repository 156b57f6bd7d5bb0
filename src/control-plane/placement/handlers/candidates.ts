import { candidateRecords, rootRecords } from "../candidates/records.js";
import { candidatesJson } from "../candidates/render.js";
import { parseCandidatesRequest } from "../candidates/request.js";
import { searchCandidates, searchRoots } from "../candidates/search.js";
import { type Call, checkQuery, type HandlerResponse } from "../http/call.js";
import { badRequest } from "../http/http-error.js";
import { ResourceClassNotFound, TraitNotFound } from "../model/errors.js";
import { candidatesSchema } from "../schemas/candidates.js";

/** Records have no older forms: from here on, summaries are of whole trees, with everything that a scheduler reads. */
const RECORDS_SINCE = 29;

export function listCandidates(call: Call): HandlerResponse {
  call.can("placement:allocation_candidates:list");
  checkQuery(call, candidatesSchema(call.minor));
  const request = parseCandidatesRequest(call);
  const requested = new Set(request.groups.flatMap(({ resources }) => [...resources.keys()]));
  try {
    const { tuning } = call;
    // A mixture needs all of its members.
    const limit = tuning.randomizeAllocationCandidates ? null : request.limit;
    const options = { ...tuning, nestedAware: call.minor >= 29, limit };
    const modified = call.unit.now;
    const records = call.request.takesRecords === true && call.minor >= RECORDS_SINCE;
    const flat = records ? searchRoots(call.state, request, options) : null;
    if (flat !== null) {
      const roots = take(call, flat.roots, request.limit);
      return { records: rootRecords(roots, flat.resources, `1.${call.minor}`), modified };
    }
    const found = take(call, searchCandidates(call.state, request, options), request.limit);
    if (records) {
      return { records: candidateRecords(found, `1.${call.minor}`), modified };
    }
    return { body: candidatesJson(found, call.minor, call.state.nested > 0, requested), modified };
  } catch (error) {
    if (error instanceof ResourceClassNotFound) {
      throw badRequest(`Invalid resource class in resources parameter: ${error.message}`);
    }
    if (error instanceof TraitNotFound) {
      throw badRequest(error.message);
    }
    throw error;
  }
}

/** As many as wanted: the first ones, or with `randomize_allocation_candidates` any. */
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
