import type { Flavor } from "../../../records/index.js";
import type { Call, ComputeResponse } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest } from "../api/fault.js";
import { readPage, takePage } from "../api/paging.js";
import { INTEGER_TEXT, MULTI } from "../api/schema-parts.js";
import { schemas } from "../api/validate.js";
import { isOpenTo } from "./find-flavor.js";
import { flavorBrief, flavorDetail } from "./flavor-view.js";

const SORT_KEYS: Readonly<Record<string, (flavor: Flavor) => string | number>> = {
  created_at: ({ id }) => id,
  description: ({ description }) => description ?? "",
  disabled: ({ disabled }) => Number(disabled),
  ephemeral_gb: ({ ephemeralGb }) => ephemeralGb,
  flavorid: ({ flavorid }) => flavorid,
  id: ({ id }) => id,
  is_public: ({ isPublic }) => Number(isPublic),
  memory_mb: ({ memoryMb }) => memoryMb,
  name: ({ name }) => name,
  root_gb: ({ rootGb }) => rootGb,
  rxtx_factor: ({ rxtxFactor }) => rxtxFactor,
  swap: ({ swap }) => swap,
  updated_at: ({ id }) => id,
  vcpu_weight: ({ id }) => id,
  vcpus: ({ vcpus }) => vcpus,
};

const properties = {
  limit: MULTI(INTEGER_TEXT),
  marker: MULTI(),
  is_public: MULTI(),
  minRam: MULTI(),
  minDisk: MULTI(),
  sort_key: MULTI({ type: "string", enum: Object.keys(SORT_KEYS) }),
  sort_dir: MULTI({ type: "string", enum: ["asc", "desc"] }),
};
const QUERY = schemas(
  [1, { type: "object", properties, additionalProperties: true }],
  [75, { type: "object", properties, additionalProperties: false }],
);

/** GET /flavors and GET /flavors/detail. */
export function listFlavors(deps: ComputeDeps, detail: boolean, call: Call): ComputeResponse {
  call.checkQuery(QUERY);
  const { query, version, links } = call;
  const page = readPage(call);
  const isPublic = call.isAdmin ? readPublic(query.get("is_public")) : true;
  const minRam = readMinimum("minRam", query.get("minRam"));
  const minDisk = readMinimum("minDisk", query.get("minDisk"));
  const matchesVisibility = (flavor: Flavor): boolean =>
    isPublic === undefined || (isPublic ? isOpenTo(deps, flavor, call.credentials.projectId) : !flavor.isPublic);
  const matchingFlavors = deps.store.flavors
    .list()
    .filter(
      (flavor) =>
        matchesVisibility(flavor) &&
        (call.isAdmin || !flavor.disabled) &&
        flavor.memoryMb >= minRam &&
        flavor.rootGb >= minDisk,
    );
  const sorted = sort(matchingFlavors, query.get("sort_key") ?? "flavorid", query.get("sort_dir") === "desc");
  const found = takePage(sorted, page, ({ flavorid }) => flavorid);
  const last = found.at(-1);
  const more = last && found.length === page.limit;
  const path = detail ? "flavors/detail" : "flavors";
  return {
    body: {
      flavors: found.map((flavor) => (detail ? flavorDetail : flavorBrief)(flavor, version, links)),
      ...(more ? { flavors_links: links.next(path, query, last.flavorid) } : {}),
    },
  };
}

function sort(flavors: readonly Flavor[], name: string, descending: boolean): readonly Flavor[] {
  const key = SORT_KEYS[name] ?? (({ flavorid }) => flavorid);
  const compare = (a: Flavor, b: Flavor): number => {
    const [left, right] = [key(a), key(b)];
    if (left === right) {
      return a.id - b.id;
    }
    return left < right ? -1 : 1;
  };
  return flavors.toSorted((a, b) => (descending ? compare(b, a) : compare(a, b)));
}

/** Undefined: both. */
function readPublic(text: string | undefined): boolean | undefined {
  if (text === undefined) {
    return true;
  }
  const value = text.trim().toLowerCase();
  if (value === "none") {
    return undefined;
  }
  if (["1", "t", "true", "on", "y", "yes"].includes(value)) {
    return true;
  }
  if (["0", "f", "false", "off", "n", "no"].includes(value)) {
    return false;
  }
  throw badRequest(`Invalid is_public filter [${text}]`);
}

function readMinimum(name: string, text: string | undefined): number {
  if (text === undefined) {
    return 0;
  }
  if (!/^-?\d{1,12}$/.test(text)) {
    throw badRequest(`Invalid ${name} filter [${text}]`);
  }
  return Number(text);
}
