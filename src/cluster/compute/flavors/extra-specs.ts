import type { Answer, Call, ComputeRoute } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest, notFound } from "../api/fault.js";
import { requireAdmin, requireReader } from "../api/policy.js";
import { type Schema, schemas } from "../api/validate.js";
import { findFlavor } from "./find-flavor.js";

type Specs = Readonly<Record<string, string | number>>;

const specs = (atMost?: number): Schema => ({
  type: "object",
  patternProperties: {
    "^[a-zA-Z0-9-_:. ]{1,255}$": { type: ["string", "number"], pattern: "^-?[^\\u0000-\\u001f]*$", maxLength: 255 },
  },
  additionalProperties: false,
  minProperties: 1,
  ...(atMost === undefined ? {} : { maxProperties: atMost }),
});

const CREATE = schemas<{ readonly extra_specs: Specs }>([
  1,
  { type: "object", properties: { extra_specs: specs() }, required: ["extra_specs"], additionalProperties: false },
]);
const UPDATE = schemas<Specs>([1, specs(1)]);

const policy = (what: string): string => `os_compute_api:os-flavor-extra-specs:${what}`;

export const extraSpecRoutes = (deps: ComputeDeps): readonly ComputeRoute[] => [
  {
    method: "GET",
    path: "/flavors/:flavor/os-extra_specs",
    answer: (call) => {
      requireReader(call, policy("index"));
      return { body: { extra_specs: findFlavor(deps, call).extraSpecs } };
    },
  },
  {
    method: "POST",
    path: "/flavors/:flavor/os-extra_specs",
    answer: (call) => {
      const body = call.body(CREATE);
      requireAdmin(call, policy("create"));
      return add(deps, call, body.extra_specs, (added) => ({ extra_specs: added }));
    },
  },
  {
    method: "GET",
    path: "/flavors/:flavor/os-extra_specs/:key",
    answer: (call) => {
      requireReader(call, policy("show"));
      return { body: { [call.param("key")]: specValue(deps, call) } };
    },
  },
  {
    method: "PUT",
    path: "/flavors/:flavor/os-extra_specs/:key",
    answer: (call) => {
      const body = call.body(UPDATE);
      requireAdmin(call, policy("update"));
      if (!Object.hasOwn(body, call.param("key"))) throw badRequest("Request body and URI mismatch");
      return add(deps, call, body, (added) => added);
    },
  },
  {
    method: "DELETE",
    path: "/flavors/:flavor/os-extra_specs/:key",
    answer: (call) => {
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

const add = (deps: ComputeDeps, call: Call, given: Specs, shown: (added: Text) => Answer["body"] & object): Answer => {
  const { flavorid, extraSpecs } = findFlavor(deps, call);
  const added = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, String(value)]));
  deps.store.flavors.setExtraSpecs(flavorid, { ...extraSpecs, ...added });
  return { body: shown(added) };
};

const specValue = (deps: ComputeDeps, call: Call): string => {
  const { flavorid, extraSpecs } = findFlavor(deps, call);
  const key = call.param("key");
  const value = Object.hasOwn(extraSpecs, key) ? extraSpecs[key] : undefined;
  if (value === undefined) throw notFound(`Flavor ${flavorid} has no extra specs with key ${key}.`);
  return value;
};
