import type { Json } from "../../http/json.js";
import { isoMicroseconds } from "../../http/times.js";
import type { AttributeMap, AttributeType, RecordOf } from "../../resources/resource.js";
import type { BlockStorageCall } from "./block-storage-call.js";
import type { TitledResource } from "./block-storage-context.js";
import type { Filter } from "./filters.js";

/** Columns of records. A time is in milliseconds since the epoch. */
export const TEXT: { readonly type: AttributeType<string> } = { type: { column: "text" } };
export const TEXT_OR_NULL: { readonly type: AttributeType<string | null> } = { type: { column: "text" } };
export const INTEGER: { readonly type: AttributeType<number> } = { type: { column: "integer" } };
export const BOOLEAN: { readonly type: AttributeType<boolean> } = { type: { column: "boolean" } };
export const TIME: { readonly type: AttributeType<number> } = { type: { column: "integer", render: isoMicroseconds } };
export const TIME_OR_NULL: { readonly type: AttributeType<number | null> } = {
  type: { column: "integer", render: isoMicroseconds },
};
export const STRINGS: { readonly type: AttributeType<readonly string[]> } = { type: { column: "json" } };
export const MEMBERS: { readonly type: AttributeType<Readonly<Record<string, string>>> } = { type: { column: "json" } };
export const MEMBERS_OR_NULL: { readonly type: AttributeType<Readonly<Record<string, string>> | null> } = {
  type: { column: "json" },
};
export const OBJECT_OR_NULL: { readonly type: AttributeType<Readonly<Record<string, Json>> | null> } = {
  type: { column: "json" },
};

/** Columns of the records that belong to a project. */
export const OWNED = { id: TEXT, project_id: TEXT, user_id: TEXT, created_at: TIME, updated_at: TIME_OR_NULL };

/**
 * The responses that contain an attribute: `summary` all, also those of lists without details; `detail` all but these;
 * `show` those of a single record and of lists with details, but not those of changes.
 */
export type ViewLevel = "summary" | "detail" | "show";

/** An attribute of a response. */
export interface ViewAttribute<R = Readonly<Record<string, unknown>>> {
  /** Default `detail`. */
  readonly level?: ViewLevel;
  /** The first, and the last, minor microversion with it. */
  readonly from?: number;
  readonly until?: number;
  /** The rule that the caller must pass to see it. */
  readonly policy?: string;
  /** Default: the column of the same name. Undefined: the response lacks it. */
  readonly value?: (record: R, call: BlockStorageCall) => Json | undefined;
}

/** A resource of the Block Storage API. Its table, views, lists and the reference page follow from it. */
export interface BlockStorageResource<M extends AttributeMap = AttributeMap> extends TitledResource<M> {
  /** Key of lists, and the path: `volumes`. */
  readonly collection: string;
  /** Key of a single record: `volume`. */
  readonly singular: string;
  /** The first minor microversion. Default 0. */
  readonly from?: number;
  readonly response: Readonly<Record<string, ViewAttribute<RecordOf<M>>>>;
  readonly list?: ListDescription;
}

/** How lists of a resource are filtered and sorted. */
export interface ListDescription {
  /** Its name in `GET /resource_filters`, and the filters of users since 3.31. Administrators may use all. */
  readonly filterName?: string;
  readonly userFilters?: readonly string[];
  /** Filters of users before 3.31, when unknown ones were ignored. Default: all of `filters`. */
  readonly formerFilters?: readonly string[];
  /** Filters by their names in queries. */
  readonly filters: Readonly<Record<string, Filter>>;
  /** Columns by their names as sort keys; empty: the order is fixed. */
  readonly sortKeys: readonly string[];
  /** The first minor microversion that obeys `sort`, `limit` and `marker`. Default 0. */
  readonly pagesFrom?: number;
  /** The order before `pagesFrom`. Default: the newest record is first. */
  readonly formerDirection?: "ASC" | "DESC";
  /** Whether `limit` and `offset` count before `pagesFrom`, too. */
  readonly isAlwaysLimited?: true;
  /** Key of the link to the next page; null: lists have none. Default: `volumes_links`, by the key of the list. */
  readonly linksKey?: string | null;
  /** Whether any user may name any filter, of which unknown ones match nothing. */
  readonly isUnchecked?: true;
  /** Filters that are ignored unless an administrator names them. */
  readonly adminFilters?: readonly string[];
  /** Whether the records of all projects are listed by administrators with `all_tenants`. Default: all are visible. */
  readonly isOwned?: boolean;
  /** Whether `all_tenants` must be a boolean. Default: what is none counts as false. */
  readonly hasStrictTenants?: true;
  /** The first minor microversion of `with_count`. */
  readonly countFrom?: number;
}

/** Defines a resource. Only the types matter: it keeps those of the attributes. */
export function defineResource<const M extends AttributeMap>(
  resource: BlockStorageResource<M>,
): BlockStorageResource<M> {
  return resource;
}

export type BlockStorageRecord<D> = D extends BlockStorageResource<infer M> ? RecordOf<M> : never;
