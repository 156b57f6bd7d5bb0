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
  /** Whether lists can be filtered, and sorted, by it. */
  readonly filter?: boolean;
  readonly sort?: boolean;
}

export type AttributeMap = Readonly<Record<string, Attribute>>;

/** The values of all attributes that have a column. */
export type RecordOf<M extends AttributeMap> = {
  readonly [K in keyof M as M[K] extends { readonly stored: false } ? never : K]: ValueOf<M[K]>;
};

/** The values of a request, of stored and of computed attributes. Absent: not specified. */
export type InputOf<M extends AttributeMap> = { readonly [K in keyof M]?: ValueOf<M[K]> };

type ValueOf<A> = A extends { readonly type: AttributeType<infer T> } ? T : never;

/** The table of a resource. Columns follow from its attributes. */
export interface StoredResource<M extends AttributeMap = AttributeMap> {
  /** `network_ports` */
  readonly table: string;
  readonly attributes: M;
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
