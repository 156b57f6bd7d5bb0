import { badRequest, notFound } from "../../http/http-error.js";
import { routes } from "../../http/router.js";
import { type Schema, schemas } from "../../http/schemas.js";
import { type Call, type ComputeRoute, requireAdmin, requireReader } from "../api/call.js";
import { bodyOf } from "../api/schema-parts.js";
import { validateExtraSpecs } from "./extra-spec-validation.js";
import { findFlavor } from "./flavor-access.js";

type Specs = Readonly<Record<string, string | number>>;

function specs(more: Schema = {}): Schema {
  return {
    type: "object",
    patternProperties: {
      "^[a-zA-Z0-9-_:. ]{1,255}$": { type: ["string", "number"], pattern: "^-?[^\\u0000-\\u001f]*$", maxLength: 255 },
    },
    additionalProperties: false,
    ...more,
  };
}

const CREATE = schemas<{ readonly extra_specs: Specs }>([1, bodyOf("extra_specs", specs())]);
const UPDATE = schemas<Specs>([1, specs({ minProperties: 1, maxProperties: 1 })]);

const policy = (what: string): string => `os_compute_api:os-flavor-extra-specs:${what}`;

export const EXTRA_SPEC_ROUTES = routes<ComputeRoute>({
  "GET /flavors/:flavor/os-extra_specs": (call) => {
    requireReader(call, policy("index"));
    return { body: { extra_specs: findFlavor(call).extraSpecs } };
  },
  "POST /flavors/:flavor/os-extra_specs": (call) => {
    const body = call.body(CREATE);
    requireAdmin(call, policy("create"));
    const added = toStringSpecs(call, body.extra_specs);
    add(call, added);
    return { body: { extra_specs: added } };
  },
  "GET /flavors/:flavor/os-extra_specs/:key": (call) => {
    requireReader(call, policy("show"));
    return { body: { [call.param("key")]: specValue(call) } };
  },
  "PUT /flavors/:flavor/os-extra_specs/:key": (call) => {
    const body = call.body(UPDATE);
    requireAdmin(call, policy("update"));
    const added = toStringSpecs(call, body);
    if (!Object.hasOwn(body, call.param("key"))) {
      throw badRequest("Request body and URI mismatch");
    }
    add(call, added);
    return { body: added };
  },
  "DELETE /flavors/:flavor/os-extra_specs/:key": (call) => {
    requireAdmin(call, policy("delete"));
    specValue(call);
    const { flavorid, extraSpecs } = findFlavor(call);
    const rest = Object.entries(extraSpecs).filter(([key]) => key !== call.param("key"));
    call.store.flavors.setExtraSpecs(flavorid, Object.fromEntries(rest));
    return { status: 200 };
  },
});

type Text = Readonly<Record<string, string>>;

/** First microversion that validates known specs. */
const VALIDATED = 86;

/** @throws {HttpError} 400 */
function toStringSpecs({ version }: Call, requestedSpecs: Specs): Text {
  const stringSpecs = Object.fromEntries(Object.entries(requestedSpecs).map(([key, value]) => [key, String(value)]));
  if (version >= VALIDATED) {
    validateExtraSpecs(stringSpecs);
  }
  return stringSpecs;
}

function add(call: Call, added: Text): void {
  const { flavorid, extraSpecs } = findFlavor(call);
  call.store.flavors.setExtraSpecs(flavorid, { ...extraSpecs, ...added });
}

function specValue(call: Call): string {
  const { flavorid, extraSpecs } = findFlavor(call);
  const key = call.param("key");
  const value = Object.hasOwn(extraSpecs, key) ? extraSpecs[key] : undefined;
  if (value === undefined) {
    throw notFound(`Flavor ${flavorid} has no extra specs with key ${key}.`);
  }
  return value;
}
