import type { Flavor } from "../../../records/index.js";
import { badRequest } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { type Schema, schemas } from "../../http/schemas.js";
import {
  type Call,
  type ComputeResponse,
  type ComputeRoute,
  type Links,
  readPage,
  requireAdmin,
  takePage,
} from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { BOOLEAN, DESCRIPTION, INTEGER_TEXT, isTrue, MULTI, NAME } from "../api/schema-parts.js";
import { EXTRA_SPEC_ROUTES } from "./extra-specs.js";
import { FLAVOR_ACCESS_ROUTES, findFlavor, isOpenTo } from "./flavor-access.js";

type View = { readonly [key: string]: Json };

const described = ({ description }: Flavor, version: number): View => (version >= 55 ? { description } : {});

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

const LIST_PROPERTIES = {
  limit: MULTI(INTEGER_TEXT),
  marker: MULTI(),
  is_public: MULTI(),
  minRam: MULTI(),
  minDisk: MULTI(),
  sort_key: MULTI({ type: "string", enum: Object.keys(SORT_KEYS) }),
  sort_dir: MULTI({ type: "string", enum: ["asc", "desc"] }),
};

const QUERY = schemas(
  [1, { type: "object", properties: LIST_PROPERTIES, additionalProperties: true }],
  [75, { type: "object", properties: LIST_PROPERTIES, additionalProperties: false }],
);

interface CreateBody {
  readonly flavor: {
    readonly name: string;
    readonly id?: string | number | null;
    readonly ram: number | string;
    readonly vcpus: number | string;
    readonly disk: number | string;
    readonly "OS-FLV-EXT-DATA:ephemeral"?: number | string;
    readonly swap?: number | string;
    readonly rxtx_factor?: number | string;
    readonly "os-flavor-access:is_public"?: boolean | string;
    readonly description?: string | null;
  };
}

const MAX_INT32 = 2_147_483_647;

const POSITIVE = { type: ["integer", "string"], pattern: "^0*[1-9][0-9]{0,9}$", minimum: 1, maximum: MAX_INT32 };

const NON_NEGATIVE = { type: ["integer", "string"], pattern: "^[0-9]{1,10}$", minimum: 0, maximum: MAX_INT32 };

const LONG_DESCRIPTION = { ...DESCRIPTION, maxLength: 65_535 };

const BASE: Readonly<Record<string, Schema>> = {
  name: NAME,
  id: {
    type: ["string", "number", "null"],
    minLength: 1,
    maxLength: 255,
    pattern: "^(?! )[a-zA-Z0-9. _-]+(?<! )$",
  },
  ram: POSITIVE,
  vcpus: POSITIVE,
  disk: NON_NEGATIVE,
  "OS-FLV-EXT-DATA:ephemeral": NON_NEGATIVE,
  swap: NON_NEGATIVE,
  rxtx_factor: {
    type: ["number", "string"],
    pattern: String.raw`^[0-9]+(\.[0-9]+)?$`,
    exclusiveMinimum: 0,
    maximum: 3.40282e38,
  },
  "os-flavor-access:is_public": BOOLEAN,
};

const REQUIRED = ["name", "ram", "vcpus", "disk"];

const CREATE = schemas<CreateBody>(
  [1, body(BASE, REQUIRED)],
  [55, body({ ...BASE, description: LONG_DESCRIPTION }, REQUIRED)],
);

const UPDATE = schemas<{ readonly flavor: { readonly description: string | null } }>([
  55,
  body({ description: LONG_DESCRIPTION }, ["description"]),
]);

export const FLAVOR_ROUTES: readonly ComputeRoute[] = [
  { method: "POST", path: "/flavors", handle: createFlavor },
  { method: "GET", path: "/flavors", handle: (deps, call) => listFlavors(deps, false, call) },
  { method: "GET", path: "/flavors/detail", handle: (deps, call) => listFlavors(deps, true, call) },
  {
    method: "GET",
    path: "/flavors/:flavor",
    handle: (deps, call) => ({ body: { flavor: flavorDetail(findFlavor(deps, call), call.version, call.links) } }),
  },
  { method: "PUT", path: "/flavors/:flavor", from: 55, handle: updateFlavor },
  {
    method: "DELETE",
    path: "/flavors/:flavor",
    handle: (deps, call) => {
      requireAdmin(call, "os_compute_api:os-flavor-manage:delete");
      deps.store.flavors.destroy(findFlavor(deps, call).flavorid);
      return { status: 202 };
    },
  },
  ...FLAVOR_ACCESS_ROUTES,
  ...EXTRA_SPEC_ROUTES,
];

function body(properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema {
  return {
    type: "object",
    properties: { flavor: { type: "object", properties, required, additionalProperties: false } },
    required: ["flavor"],
    additionalProperties: false,
  };
}

/** Handles POST /flavors. Numbers may be strings. An id that is null, absent or `auto` is generated. */
function createFlavor(deps: ComputeDeps, call: Call): ComputeResponse {
  const { flavor: requested } = call.body(CREATE);
  requireAdmin(call, "os_compute_api:os-flavor-manage:create");
  const id = requested.id ?? "auto";
  const isPublic = requested["os-flavor-access:is_public"];
  const flavor = deps.store.flavors.create({
    flavorid: id === "auto" ? deps.random.uuid() : String(id),
    name: requested.name,
    vcpus: Number(requested.vcpus),
    memoryMb: Number(requested.ram),
    rootGb: Number(requested.disk),
    ephemeralGb: Number(requested["OS-FLV-EXT-DATA:ephemeral"] ?? 0),
    swap: Number(requested.swap ?? 0),
    rxtxFactor: Number(requested.rxtx_factor ?? 1),
    isPublic: isPublic === undefined || isTrue(isPublic),
    description: requested.description ?? null,
  });
  return { body: { flavor: flavorDetail(flavor, call.version, call.links) } };
}

/** Handles PUT /flavors/{id}. Only the description can change. */
function updateFlavor(deps: ComputeDeps, call: Call): ComputeResponse {
  const { description } = call.body(UPDATE).flavor;
  requireAdmin(call, "os_compute_api:os-flavor-manage:update");
  const flavor = deps.store.flavors.update(findFlavor(deps, call).flavorid, { description });
  return { body: { flavor: flavorDetail(flavor, call.version, call.links) } };
}

/** Handles GET /flavors and GET /flavors/detail. */
function listFlavors(deps: ComputeDeps, detail: boolean, call: Call): ComputeResponse {
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

/** Returns undefined for both public and non-public flavors. */
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

function flavorBrief(flavor: Flavor, version: number, links: Links): View {
  return {
    id: flavor.flavorid,
    name: flavor.name,
    links: links.pair(`flavors/${flavor.flavorid}`),
    ...described(flavor, version),
  };
}

function flavorDetail(flavor: Flavor, version: number, links: Links): View {
  return {
    id: flavor.flavorid,
    name: flavor.name,
    ram: flavor.memoryMb,
    disk: flavor.rootGb,
    swap: flavor.swap === 0 && version < 75 ? "" : flavor.swap,
    "OS-FLV-EXT-DATA:ephemeral": flavor.ephemeralGb,
    "OS-FLV-DISABLED:disabled": flavor.disabled,
    vcpus: flavor.vcpus,
    "os-flavor-access:is_public": flavor.isPublic,
    rxtx_factor: flavor.rxtxFactor,
    links: links.pair(`flavors/${flavor.flavorid}`),
    ...described(flavor, version),
    ...(version >= 61 ? { extra_specs: flavor.extraSpecs } : {}),
  };
}
