import type { Call, ComputeResponse } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { requireAdmin } from "../api/policy.js";
import { BOOLEAN, DESCRIPTION, isTrue, NAME } from "../api/schema-parts.js";
import { type Schema, schemas } from "../api/validate.js";
import { findFlavor } from "./find-flavor.js";
import { flavorDetail } from "./flavor-view.js";

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

function body(properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema {
  return {
    type: "object",
    properties: { flavor: { type: "object", properties, required, additionalProperties: false } },
    required: ["flavor"],
    additionalProperties: false,
  };
}

const REQUIRED = ["name", "ram", "vcpus", "disk"];
const CREATE = schemas<CreateBody>(
  [1, body(BASE, REQUIRED)],
  [55, body({ ...BASE, description: LONG_DESCRIPTION }, REQUIRED)],
);
const UPDATE = schemas<{ readonly flavor: { readonly description: string | null } }>([
  55,
  body({ description: LONG_DESCRIPTION }, ["description"]),
]);

/** POST /flavors. Numbers may be texts; an id that is null, absent or `auto` is made up. */
export function createFlavor(deps: ComputeDeps, call: Call): ComputeResponse {
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

/** PUT /flavors/{id}: the description is all that may change. */
export function updateFlavor(deps: ComputeDeps, call: Call): ComputeResponse {
  const { description } = call.body(UPDATE).flavor;
  requireAdmin(call, "os_compute_api:os-flavor-manage:update");
  const flavor = deps.store.flavors.update(findFlavor(deps, call).flavorid, { description });
  return { body: { flavor: flavorDetail(flavor, call.version, call.links) } };
}
