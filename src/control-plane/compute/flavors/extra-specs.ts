import { badRequest, notFound } from "../../http/http-error.js";
import { type Schema, schemas } from "../../http/schemas.js";
import { type Call, type ComputeRoute, requireAdmin, requireReader } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
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

const CREATE = schemas<{ readonly extra_specs: Specs }>([
  1,
  { type: "object", properties: { extra_specs: specs() }, required: ["extra_specs"], additionalProperties: false },
]);
const UPDATE = schemas<Specs>([1, specs({ minProperties: 1, maxProperties: 1 })]);

const policy = (what: string): string => `os_compute_api:os-flavor-extra-specs:${what}`;

export const EXTRA_SPEC_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/flavors/:flavor/os-extra_specs",
    handle: (deps, call) => {
      requireReader(call, policy("index"));
      return { body: { extra_specs: findFlavor(deps, call).extraSpecs } };
    },
  },
  {
    method: "POST",
    path: "/flavors/:flavor/os-extra_specs",
    handle: (deps, call) => {
      const body = call.body(CREATE);
      requireAdmin(call, policy("create"));
      const added = toStringSpecs(call, body.extra_specs);
      add(deps, call, added);
      return { body: { extra_specs: added } };
    },
  },
  {
    method: "GET",
    path: "/flavors/:flavor/os-extra_specs/:key",
    handle: (deps, call) => {
      requireReader(call, policy("show"));
      return { body: { [call.param("key")]: specValue(deps, call) } };
    },
  },
  {
    method: "PUT",
    path: "/flavors/:flavor/os-extra_specs/:key",
    handle: (deps, call) => {
      const body = call.body(UPDATE);
      requireAdmin(call, policy("update"));
      const added = toStringSpecs(call, body);
      if (!Object.hasOwn(body, call.param("key"))) {
        throw badRequest("Request body and URI mismatch");
      }
      add(deps, call, added);
      return { body: added };
    },
  },
  {
    method: "DELETE",
    path: "/flavors/:flavor/os-extra_specs/:key",
    handle: (deps, call) => {
      requireAdmin(call, policy("delete"));
      specValue(deps, call);
      const { flavorid, extraSpecs } = findFlavor(deps, call);
      const rest = Object.entries(extraSpecs).filter(([key]) => key !== call.param("key"));
      deps.store.flavors.setExtraSpecs(flavorid, Object.fromEntries(rest));
      return { status: 200 };
    },
  },
];

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

function add(deps: ComputeDeps, call: Call, added: Text): void {
  const { flavorid, extraSpecs } = findFlavor(deps, call);
  deps.store.flavors.setExtraSpecs(flavorid, { ...extraSpecs, ...added });
}

function specValue(deps: ComputeDeps, call: Call): string {
  const { flavorid, extraSpecs } = findFlavor(deps, call);
  const key = call.param("key");
  const value = Object.hasOwn(extraSpecs, key) ? extraSpecs[key] : undefined;
  if (value === undefined) {
    throw notFound(`Flavor ${flavorid} has no extra specs with key ${key}.`);
  }
  return value;
}
