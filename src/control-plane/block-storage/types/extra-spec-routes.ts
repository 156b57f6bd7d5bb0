import { badRequest, notFound } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { type Schema, type SchemaVersions, schemas } from "../../http/schemas.js";
import { where } from "../../resources/condition.js";
import type { BlockStorageCall, BlockStorageRoute, Body } from "../engine/block-storage-call.js";
import { ACCEPTED } from "../engine/resource-routes.js";
import { bodyOf, EXTRA_SPECS, GROUP_SPECS, ONE } from "../engine/schema-parts.js";
import { GROUP_TYPES } from "../resources/groups.js";
import { TYPES, usersSpecs } from "../resources/types.js";
import { VOLUMES } from "../resources/volumes.js";
import { requireType } from "./find-type.js";

type Specs = Readonly<Record<string, string>>;

/** The specs of a kind of types: `/types/{id}/extra_specs`. */
interface SpecDescription {
  readonly path: string;
  /** Key of bodies: `extra_specs`. */
  readonly key: string;
  readonly from: number;
  /** Prefix of its rules. */
  readonly rule: string;
  readonly rules: { readonly list: string; readonly show: string };
  readonly schema: Schema;
  /** Status of the responses to creation and deletion. */
  readonly createdStatus: number;
  readonly read: (call: BlockStorageCall) => { readonly id: string; readonly specs: Specs; readonly visible: Specs };
  /** @throws {HttpError} 400 if the type may not change */
  readonly assertChangeable?: (call: BlockStorageCall) => void;
  readonly save: (call: BlockStorageCall, id: string, specs: Specs) => void;
  readonly missing: (id: string, key: string) => string;
  /** The same for a deletion, if it differs. */
  readonly missingToDelete?: (id: string, key: string) => string;
}

function specRoutes(description: SpecDescription): readonly BlockStorageRoute[] {
  const { path, key: name, from, rule, rules, schema, createdStatus, read, save, missing } = description;
  const assertChangeable = description.assertChangeable ?? (() => {});
  const all: SchemaVersions<Body> = schemas([0, bodyOf(name, schema)]);
  const item: SchemaVersions<Body> = schemas([0, { ...schema, ...ONE }]);
  const requireSpec = (specs: Specs, id: string, key: string, message = missing): string => {
    const value = specs[key];
    if (value === undefined) {
      throw notFound(message(id, key));
    }
    return value;
  };
  const create = (call: BlockStorageCall): RouteResponse => {
    const body = call.body(all);
    call.context.authorize(`${rule}:create`);
    assertChangeable(call);
    const { id, specs } = read(call);
    save(call, id, { ...specs, ...(body[name] as Specs) });
    return { status: createdStatus, body };
  };
  const update = (call: BlockStorageCall): RouteResponse => {
    const body = call.body(item);
    call.context.authorize(`${rule}:update`);
    assertChangeable(call);
    const { id, specs } = read(call);
    const key = call.param("key");
    if (!Object.hasOwn(body, key)) {
      throw badRequest("Request body and URI mismatch");
    }
    save(call, id, { ...specs, ...(body as Specs) });
    return { body };
  };
  const remove = (call: BlockStorageCall): RouteResponse => {
    call.context.authorize(`${rule}:delete`);
    assertChangeable(call);
    const { id, specs } = read(call);
    const key = call.param("key");
    requireSpec(specs, id, key, description.missingToDelete);
    const { [key]: _removed, ...rest } = specs;
    save(call, id, rest);
    return ACCEPTED;
  };
  return routes<BlockStorageRoute>(
    {
      "GET /": (call) => {
        call.context.authorize(rules.list);
        return { body: { [name]: read(call).visible } };
      },
      "POST /": { body: all, handle: create },
      "GET /:key": (call) => {
        call.context.authorize(rules.show);
        const { id, visible } = read(call);
        const key = call.param("key");
        return { body: { [key]: requireSpec(visible, id, key) } };
      },
      "PUT /:key": { body: item, handle: update },
      "DELETE /:key": remove,
    },
    { prefix: path, from },
  );
}

const SPECS_RULE = "volume_extension:types_extra_specs";

export const EXTRA_SPEC_ROUTES: readonly BlockStorageRoute[] = [
  ...specRoutes({
    path: "/types/:id/extra_specs",
    key: "extra_specs",
    from: 0,
    rule: SPECS_RULE,
    rules: { list: `${SPECS_RULE}:index`, show: `${SPECS_RULE}:show` },
    schema: EXTRA_SPECS,
    createdStatus: 200,
    read: ({ context, params }) => {
      const { id, extra_specs: specs } = requireType(context, params.id ?? "");
      return { id, specs, visible: context.allows(`${SPECS_RULE}:read_sensitive`) ? specs : usersSpecs(specs) };
    },
    assertChangeable: ({ context, params }) => {
      if (context.table(VOLUMES).has(where`volume_type_id = ${params.id ?? ""}`)) {
        throw badRequest("Volume Type is currently in use.");
      }
    },
    save: ({ context }, id, specs) => context.change(TYPES, id, { extra_specs: specs }),
    missing: (id, key) => `Volume Type ${id} has no extra specs with key ${key}.`,
  }),
  ...specRoutes({
    path: "/group_types/:id/group_specs",
    key: "group_specs",
    from: 11,
    rule: "group:group_types_specs",
    rules: { list: "group:group_types_specs:get_all", show: "group:group_types_specs:get" },
    schema: GROUP_SPECS,
    createdStatus: 202,
    read: ({ context, params }) => {
      const { id, group_specs: specs } = context.require(GROUP_TYPES, params.id ?? "");
      return { id, specs, visible: specs };
    },
    save: ({ context }, id, specs) => context.change(GROUP_TYPES, id, { group_specs: specs }),
    missing: (id, key) => `Group Type ${id} has no extra spec with key ${key}.`,
    missingToDelete: (id, key) => `Group Type ${id} has no specs with key ${key}.`,
  }),
];
