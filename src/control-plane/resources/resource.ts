import type { Json } from "../http/json.js";

/** How a column stores an attribute. Booleans are 0 and 1, JSON is text; each may be NULL. */
export type ColumnType = "text" | "integer" | "boolean" | "json";

/** The type of an attribute's values. Each service's dialect adds how a value is validated and converted. */
export interface AttributeType<T = unknown> {
  readonly column: ColumnType;
  /** Converts a stored value for a response, such as a time. Default: unchanged. */
  readonly render?: (value: never) => Json;
  /** For the type system only. */
  readonly value?: T;
}

/** An attribute of a resource. */
export interface Attribute<T = unknown> {
  readonly type: AttributeType<T>;
  /** Whether it has a column. Otherwise the resource's behaviour computes it from other records. */
  readonly stored?: false;
  /** Whether records may lack it. Only documents may; columns are NULL. */
  readonly optional?: true;
  /** Whether lists can be filtered, and sorted, by it. */
  readonly filter?: boolean;
  readonly sort?: boolean;
}

export type AttributeMap = Readonly<Record<string, Attribute>>;

/** The values of all attributes that have a column. */
export type RecordOf<M extends AttributeMap> = {
  readonly [K in keyof M as M[K] extends { readonly stored: false } | { readonly optional: true } ? never : K]: ValueOf<
    M[K]
  >;
} & {
  readonly [K in keyof M as M[K] extends { readonly optional: true } ? K : never]?: ValueOf<M[K]>;
};

/** The values of a request, of stored and of computed attributes. Absent: not specified. */
export type InputOf<M extends AttributeMap> = { readonly [K in keyof M]?: ValueOf<M[K]> };

export type ValueOf<A> = A extends { readonly type: AttributeType<infer T> } ? T : never;

/** The table of a resource. Columns follow from its attributes. */
export interface StoredResource<M extends AttributeMap = AttributeMap> {
  /** `network_ports` */
  readonly table: string;
  readonly attributes: M;
  /**
   * The column of a JSON document that has all attributes, and members that clients add. Default: a column for each
   * attribute.
   */
  readonly document?: string;
  /** Further columns of a document's row, each computed from an attribute: a key by which the database compares it. */
  readonly keys?: Readonly<Record<string, Key>>;
  /**
   * The SELECT of a view with a column for each attribute, `id` and `rowid`, for a resource whose records follow from
   * those of others. Its behaviour changes and deletes them.
   */
  readonly view?: string;
  /** Attributes that refer to the id of another resource; the database enforces it. Default: the delete is rejected. */
  readonly references?: Readonly<Record<string, Reference>>;
  /** Sets of attributes that identify a record. */
  readonly unique?: readonly (readonly string[])[];
  readonly indexes?: readonly (readonly string[])[];
}

interface Key {
  readonly attribute: string;
  readonly toKey: (value: string) => string;
}

interface Reference {
  readonly table: string;
  readonly onDelete?: "cascade" | "set null";
}

/** Words that SQL reserves. */
const RESERVED = ["default", "from", "group", "index", "order", "to"];

/** Returns the column of an attribute: `router:external` is stored in `router_external`, and `default` in `default_`. */
export function columnOf(attribute: string): string {
  return RESERVED.includes(attribute) ? `${attribute}_` : attribute.replace(/[^a-z0-9]/g, "_");
}

/** Returns the SQL of an attribute's value. */
export function expressionOf({ table, document }: StoredResource, attribute: string): string {
  return document === undefined || attribute === "id"
    ? `${table}.${columnOf(attribute)}`
    : `json_extract(${table}.${document}, '$.${attribute}')`;
}
