import type { Json } from "../../http/json.js";
import { isoSeconds } from "../../http/times.js";
import { type NetworkAttribute, type NetworkType, NOT_SPECIFIED } from "./network-resource.js";

/** Types of attributes. Each names Neutron's validator and converter; `validate-attributes.ts` runs them. */

export const string = (max: number | null = null): NetworkType<string> => ({
  column: "text",
  validator: "type:string",
  parameter: max,
});

export const stringOrNull = (max: number | null = null): NetworkType<string | null> => ({
  column: "text",
  validator: "type:string_or_none",
  parameter: max,
});

export const uuid: NetworkType<string> = { column: "text", validator: "type:uuid", parameter: null };

export const uuidOrNull: NetworkType<string | null> = {
  column: "text",
  validator: "type:uuid_or_none",
  parameter: null,
};

/** Text that the service sets or that only the behaviour checks. */
export const text: NetworkType<string> = { column: "text" };

export const textOrNull: NetworkType<string | null> = { column: "text" };

export const integer: NetworkType<number> = { column: "integer" };

export const integerOrNull: NetworkType<number | null> = { column: "integer" };

export const flag: NetworkType<boolean> = { column: "boolean" };

export const boolean: NetworkType<boolean> = { column: "boolean", converter: "convert_to_boolean" };

export const booleanOrNull: NetworkType<boolean | null> = {
  column: "boolean",
  converter: "convert_to_boolean_if_not_none",
};

export const oneOf = <const T extends string | number | null>(
  values: readonly T[],
  converter?: string,
): NetworkType<T> => ({
  column: values.some((value) => typeof value === "number") ? "integer" : "text",
  validator: "type:values",
  parameter: values,
  ...(converter === undefined ? {} : { converter }),
});

export const range = (min: number, max: number | null, converter?: string): NetworkType<number> => ({
  column: "integer",
  validator: "type:range",
  parameter: [min, max],
  ...(converter === undefined ? {} : { converter }),
});

/** A JSON value that a validator checks; `T` is its form after conversion. */
export const json = <T extends Json>(rules: Omit<NetworkType, "column" | "value"> = {}): NetworkType<T> => ({
  column: "json",
  ...rules,
});

/** A text that a validator checks. */
export const checkedText = <T extends string | null = string>(
  rules: Omit<NetworkType, "column" | "value">,
): NetworkType<T> => ({ column: "text", ...rules });

/** A time in milliseconds since the epoch. */
const time: NetworkType<number> = { column: "integer", render: (value: never) => isoSeconds(value) };

/** Attributes of every resource with an id. */
export const ID = {
  id: { type: uuid, filter: true, sort: true },
} as const satisfies Readonly<Record<string, NetworkAttribute>>;

/** The owner. Requests and responses have it under both names; `tenant_id` has no column. */
export const OWNER = {
  project_id: {
    type: string(255),
    post: true,
    default: NOT_SPECIFIED,
    requiredByPolicy: true,
    filter: true,
    sort: true,
  },
} as const satisfies Readonly<Record<string, NetworkAttribute>>;

/** Attributes of all resources with a standard attribute (`standard-attr-*`). */
export const STANDARD = {
  description: {
    type: string(255),
    post: true,
    put: true,
    default: "",
    filter: true,
    extension: "standard-attr-description",
  },
  created_at: { type: time, extension: "standard-attr-timestamp" },
  updated_at: { type: time, extension: "standard-attr-timestamp" },
  revision_number: { type: integer, filter: true, extension: "standard-attr-revisions" },
} as const satisfies Readonly<Record<string, NetworkAttribute>>;

/** The tags of a resource; a table of their own stores them. */
export const TAGS = {
  tags: { type: json<readonly string[]>(), stored: false, filter: true, extension: "standard-attr-tag" },
} as const satisfies Readonly<Record<string, NetworkAttribute>>;
