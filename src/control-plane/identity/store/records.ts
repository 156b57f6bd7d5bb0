import { type TSchema, Type } from "typebox";
import type { Digests } from "../../../runtime/cryptography.js";
import type { Json } from "../../http/json.js";
import { defineResource, type IdentityType, type RecordIn, typeOf } from "./identity-resource.js";
import { nameKey } from "./record-tables.js";

/** Types of attributes. */

export const BOOLEAN: IdentityType<boolean> = { column: "boolean", schema: Type.Unsafe(Type.Boolean()) };

export const TEXT = typeOf(Type.String());

export const NAME = typeOf(Type.String({ minLength: 1, maxLength: 255, pattern: "[\\S]+" }));

const SHORT_NAME = typeOf(Type.String({ minLength: 1, maxLength: 64, pattern: "[\\S]+" }));

export const ID = typeOf(Type.String({ minLength: 1, maxLength: 64, pattern: "^[a-zA-Z0-9-]+$" }));

const LABEL = typeOf(Type.String({ minLength: 1, maxLength: 255 }));

const URL_TEXT = typeOf(Type.String({ maxLength: 225, pattern: "^[a-zA-Z0-9+.-]+:.+" }));

const SIDE = typeOf(
  Type.Unsafe<"admin" | "internal" | "public">({ type: "string", enum: ["admin", "internal", "public"] }),
);

const AMOUNT: IdentityType<number> = {
  column: "integer",
  schema: Type.Unsafe(Type.Integer({ minimum: -1, maximum: 0x7fffffff })),
};

export const TAG = typeOf(Type.String({ minLength: 1, maxLength: 255, pattern: "^[^,/]*$" }));

export const TAGS = json<readonly string[]>(Type.Array(TAG.schema, { maxItems: 80, uniqueItems: true }));

/** Resource options. All kinds with options support `immutable`. */
const OPTIONS = json<{ readonly immutable?: boolean | null; readonly [name: string]: Json | undefined }>(
  Type.Object({ immutable: Type.Optional(orNull(BOOLEAN).schema) }),
);

/** A JSON value; the schema is that of bodies that contain it. */
function json<T>(schema: TSchema = Type.Object({})): IdentityType<T> {
  return { column: "json", schema: Type.Unsafe(schema) };
}

/** Makes a type nullable. Both types are listed, since messages of Python's jsonschema name both. */
export function orNull<T>({ column, schema }: IdentityType<T>): IdentityType<T | null> {
  const { type } = schema as unknown as { readonly type: string };
  return { column, schema: Type.Unsafe({ ...schema, type: [type, "null"] }) };
}

/** Names are unique within a domain, ignoring case. */
const NAME_KEY = { name_key: { attribute: "name", toKey: nameKey } };

/** Projects and domains. A domain is a project that is its own namespace. */
export const PROJECTS = defineResource({
  collection: "projects",
  singular: "project",
  keys: NAME_KEY,
  attributes: {
    name: { type: SHORT_NAME, post: "required", patch: true, filter: true },
    description: { type: orNull(TEXT), post: true, patch: true },
    /** Null for a domain. */
    domain_id: { type: orNull(ID), post: true, patch: true, filter: true },
    enabled: { type: BOOLEAN, post: true, patch: true, filter: true },
    is_domain: { type: BOOLEAN, post: true, patch: true, filter: true },
    parent_id: { type: orNull(ID), post: true, patch: true, filter: true },
    tags: { type: TAGS, post: true, patch: true },
    options: { type: OPTIONS, post: true, patch: true },
  },
});

export type Project = RecordIn<typeof PROJECTS>;

/** Domains as records of their own. */
export const DOMAINS = defineResource({
  ...PROJECTS,
  collection: "domains",
  singular: "domain",
  attributes: {
    ...PROJECTS.attributes,
    domain_id: { type: orNull(ID) },
    is_domain: { type: BOOLEAN },
    parent_id: { type: orNull(ID) },
  },
});

export const USERS = defineResource({
  collection: "users",
  singular: "user",
  keys: NAME_KEY,
  attributes: {
    name: { type: NAME, post: "required", patch: true, filter: true },
    default_project_id: { type: orNull(ID), optional: true, post: true, patch: true },
    description: { type: orNull(TEXT), optional: true, post: true, patch: true },
    domain_id: { type: ID, post: true, patch: true, filter: true },
    enabled: { type: BOOLEAN, post: true, patch: true, filter: true },
    password: { type: orNull(TEXT), stored: false, post: true, patch: true },
    options: { type: OPTIONS, post: true, patch: true },
  },
});

export type User = RecordIn<typeof USERS>;

export const GROUPS = defineResource({
  collection: "groups",
  singular: "group",
  keys: NAME_KEY,
  attributes: {
    name: { type: NAME, post: "required", patch: true, filter: true },
    description: { type: orNull(TEXT), post: true, patch: true },
    domain_id: { type: ID, post: true, patch: true, filter: true },
  },
});

export const ROLES = defineResource({
  collection: "roles",
  singular: "role",
  keys: NAME_KEY,
  attributes: {
    name: { type: NAME, post: "required", patch: true, filter: true },
    description: { type: orNull(TEXT), post: true, patch: true },
    options: { type: OPTIONS, post: true, patch: true },
    /** Null for a global role. */
    domain_id: { type: orNull(ID), post: true, filter: true },
  },
});

export type Role = RecordIn<typeof ROLES>;

export const SERVICES = defineResource({
  collection: "services",
  singular: "service",
  attributes: {
    type: { type: LABEL, post: "required", patch: true, filter: true },
    enabled: { type: BOOLEAN, post: true, patch: true },
    // Keystone does not store it in a column, so its database does not compare it.
    name: { type: NAME, optional: true, post: true, patch: true, filter: true, isCaseSensitive: true },
  },
});

export type Service = RecordIn<typeof SERVICES>;

export const ENDPOINTS = defineResource({
  collection: "endpoints",
  singular: "endpoint",
  attributes: {
    interface: { type: SIDE, post: "required", patch: true, filter: true },
    service_id: { type: TEXT, post: "required", patch: true, filter: true },
    url: { type: URL_TEXT, post: "required", patch: true },
    enabled: { type: BOOLEAN, post: true, patch: true },
    region_id: { type: orNull(TEXT), post: true, patch: true, filter: true },
    region: { type: orNull(TEXT), post: true, patch: true },
  },
});

export type Endpoint = RecordIn<typeof ENDPOINTS>;

export const REGIONS = defineResource({
  collection: "regions",
  singular: "region",
  attributes: {
    id: { type: TEXT, post: true },
    description: { type: orNull(TEXT), post: true, patch: true },
    parent_region_id: { type: orNull(TEXT), post: true, patch: true, filter: true },
  },
});

export type Region = RecordIn<typeof REGIONS>;

export const ENDPOINT_GROUPS = defineResource({
  collection: "endpoint_groups",
  singular: "endpoint_group",
  path: "/v3/OS-EP-FILTER/endpoint_groups",
  attributes: {
    name: { type: NAME, post: "required", patch: true, filter: true },
    filters: { type: json<Readonly<Record<string, Json>>>(), post: "required", patch: true },
    description: { type: orNull(TEXT), post: true, patch: true },
  },
});

export type EndpointGroup = RecordIn<typeof ENDPOINT_GROUPS>;

export const CREDENTIALS = defineResource({
  collection: "credentials",
  singular: "credential",
  attributes: {
    blob: { type: TEXT, post: "required", patch: true },
    type: { type: TEXT, post: "required", patch: true, filter: true },
    user_id: { type: TEXT, post: "required", patch: true, filter: true },
    project_id: { type: orNull(TEXT), post: true, patch: true },
  },
});

export type Credential = RecordIn<typeof CREDENTIALS>;

/** Blobs without effect. */
export const POLICIES = defineResource({
  collection: "policies",
  singular: "policy",
  attributes: {
    blob: { type: TEXT, post: "required", patch: true },
    type: { type: typeOf(Type.String({ maxLength: 255 })), post: "required", patch: true, filter: true },
  },
});

/** OAuth consumers, which are stored only: no tokens are issued for them. */
export const CONSUMERS = defineResource({
  collection: "consumers",
  singular: "consumer",
  path: "/v3/OS-OAUTH1/consumers",
  attributes: {
    description: { type: orNull(TEXT), post: true, patch: true },
  },
});

export const ACCESS_RULES = defineResource({
  collection: "access_rules",
  singular: "access_rule",
  attributes: {
    service: { type: TEXT, filter: true },
    method: { type: TEXT, filter: true },
    path: { type: TEXT, filter: true },
    user_id: { type: ID },
  },
});

export type AccessRule = RecordIn<typeof ACCESS_RULES>;

export const APPLICATION_CREDENTIALS = defineResource({
  collection: "application_credentials",
  singular: "application_credential",
  attributes: {
    name: { type: NAME, filter: true },
    user_id: { type: ID },
    description: { type: orNull(TEXT) },
    project_id: { type: ID },
    /** Role ids. */
    roles: { type: json<readonly string[]>() },
    unrestricted: { type: BOOLEAN },
    /** Milliseconds since the epoch. */
    expires: { type: orNull(AMOUNT) },
    /** The same as an ISO 8601 string with microseconds, as the API returns it. */
    expires_at: { type: orNull(TEXT) },
    access_rules: { type: json<readonly AccessRule[]>() },
  },
});

export type ApplicationCredential = RecordIn<typeof APPLICATION_CREDENTIALS>;

/** Options of a domain by group. The id is the domain's. */
export const DOMAIN_CONFIGS = defineResource({
  collection: "domain_configs",
  singular: "domain_config",
  attributes: {
    config: { type: json<Readonly<Record<string, Readonly<Record<string, Json>>>>>() },
  },
});

export type DomainConfig = RecordIn<typeof DOMAIN_CONFIGS>;

/** The default limits of services' resources per project. -1: unlimited. */
export const REGISTERED_LIMITS = defineResource({
  collection: "registered_limits",
  singular: "registered_limit",
  isClosed: true,
  attributes: {
    service_id: { type: ID, post: "required", patch: true, filter: true },
    region_id: { type: orNull(TEXT), post: true, patch: true, filter: true },
    resource_name: { type: LABEL, post: "required", patch: true, filter: true },
    default_limit: { type: AMOUNT, post: "required", patch: true },
    description: { type: orNull(TEXT), post: true, patch: true },
    id: { type: ID, patch: true },
  },
});

export type RegisteredLimit = RecordIn<typeof REGISTERED_LIMITS>;

/** Limits of projects and domains, which override the registered limits. */
export const LIMITS = defineResource({
  collection: "limits",
  singular: "limit",
  isClosed: true,
  attributes: {
    service_id: { type: ID, stored: false, post: "required", filter: true },
    region_id: { type: TEXT, stored: false, post: true, filter: true },
    resource_name: { type: LABEL, stored: false, post: "required", filter: true },
    resource_limit: { type: AMOUNT, post: "required", patch: true },
    description: { type: orNull(TEXT), post: true, patch: true },
    registered_limit_id: { type: ID },
    project_id: { type: ID as IdentityType<string | null>, post: true, filter: true },
    domain_id: { type: ID as IdentityType<string | null>, post: true, filter: true },
    id: { type: ID, patch: true },
  },
});

export type Limit = RecordIn<typeof LIMITS>;

export const DEFAULT_DOMAIN = "default";

export function newProject(id: string, name: string, rest: Partial<Project> = {}): Project {
  return {
    id,
    name,
    domain_id: DEFAULT_DOMAIN,
    description: "",
    enabled: true,
    parent_id: rest.domain_id ?? DEFAULT_DOMAIN,
    is_domain: false,
    tags: [],
    options: {},
    ...rest,
  };
}

/** Returns an id that depends only on the name. */
export const stableId = (digests: Pick<Digests, "sha256">, name: string): string => digests.sha256(name).slice(0, 32);
