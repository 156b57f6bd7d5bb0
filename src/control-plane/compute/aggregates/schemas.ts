import { HOSTNAME, NAME, UUID_TEXT } from "../api/schema-parts.js";
import { type Schema, schemas } from "../api/validate.js";

function object(properties: Readonly<Record<string, Schema>>, more: Schema = {}): Schema {
  return {
    type: "object",
    properties,
    additionalProperties: false,
    ...more,
  };
}

/** A body of one member. */
const only = (name: string, schema: Schema): Schema => object({ [name]: schema }, { required: [name] });

const ZONE = {
  oneOf: [{ type: "string", minLength: 1, maxLength: 255, format: "az_name" }, { type: "null" }],
};

export const CREATE = schemas<{
  readonly aggregate: { readonly name: string; readonly availability_zone?: string | null };
}>([1, only("aggregate", object({ name: NAME, availability_zone: ZONE }, { required: ["name"] }))]);

export const UPDATE = schemas<{
  readonly aggregate: { readonly name?: string; readonly availability_zone?: string | null };
}>([
  1,
  only(
    "aggregate",
    object(
      { name: { ...NAME, format: "name_with_spaces" }, availability_zone: ZONE },
      { anyOf: [{ required: ["name"] }, { required: ["availability_zone"] }] },
    ),
  ),
]);

interface HostBody {
  readonly host: string;
}
const host = only("host", HOSTNAME);

export const ADD_HOST = schemas<{ readonly add_host: HostBody }>([1, only("add_host", host)]);
export const REMOVE_HOST = schemas<{ readonly remove_host: HostBody }>([1, only("remove_host", host)]);

const METADATA = {
  type: "object",
  patternProperties: { "^[a-zA-Z0-9-_:. ]{1,255}$": { type: ["string", "null"], maxLength: 255 } },
  additionalProperties: false,
};

export const SET_METADATA = schemas<{
  readonly set_metadata: { readonly metadata: Readonly<Record<string, string | null>> };
}>([1, only("set_metadata", only("metadata", METADATA))]);

export const CACHE_IMAGES = schemas<{ readonly cache: readonly { readonly id: string }[] }>([
  81,
  only("cache", { type: "array", minItems: 1, items: only("id", UUID_TEXT) }),
]);
