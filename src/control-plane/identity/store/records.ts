import type { Digests } from "../../../runtime/cryptography.js";
import type { Json } from "../../http/json.js";
import type { StoredRecord } from "./record-tables.js";

type Options = { readonly immutable?: boolean | null; readonly [name: string]: Json | undefined };

/** A project or a domain. A domain is a project that is its own namespace. */
export interface Project extends StoredRecord {
  readonly name: string;
  /** Null for a domain. */
  readonly domain_id: string | null;
  readonly description: string | null;
  readonly enabled: boolean;
  readonly parent_id: string | null;
  readonly is_domain: boolean;
  readonly tags: readonly string[];
  readonly options: Options;
}

export interface User extends StoredRecord {
  readonly name: string;
  readonly domain_id: string;
  readonly enabled: boolean;
  readonly default_project_id?: string | null;
  readonly options: Options;
}

export interface Group extends StoredRecord {
  readonly name: string;
  readonly domain_id: string;
  readonly description: string;
}

export interface Role extends StoredRecord {
  readonly name: string;
  /** Null for a global role. */
  readonly domain_id: string | null;
  readonly description: string | null;
  readonly options: Options;
}

export interface Service extends StoredRecord {
  readonly type: string;
  readonly name?: string;
  readonly enabled: boolean;
}

export interface Endpoint extends StoredRecord {
  readonly interface: string;
  readonly service_id: string;
  readonly region_id: string | null;
  readonly region: string | null;
  readonly url: string;
  readonly enabled: boolean;
}

export interface Region extends StoredRecord {
  readonly description: string;
  readonly parent_region_id: string | null;
}

export interface Credential extends StoredRecord {
  readonly type: string;
  readonly blob: string;
  readonly user_id: string;
  readonly project_id: string | null;
}

export interface ApplicationCredential extends StoredRecord {
  readonly name: string;
  readonly user_id: string;
  readonly description: string | null;
  readonly project_id: string;
  /** Role ids. */
  readonly roles: readonly string[];
  readonly unrestricted: boolean;
  /** Milliseconds since the epoch. */
  readonly expires: number | null;
  /** The same as an ISO 8601 string with microseconds, as the API returns it. */
  readonly expires_at: string | null;
  readonly access_rules: readonly AccessRule[];
}

export interface AccessRule extends StoredRecord {
  readonly service: string;
  readonly method: string;
  readonly path: string;
  readonly user_id: string;
}

export interface EndpointGroup extends StoredRecord {
  readonly name: string;
  readonly description: string | null;
  readonly filters: Readonly<Record<string, Json>>;
}

/** The default limit of a service's resource per project. -1: unlimited. */
export interface RegisteredLimit extends StoredRecord {
  readonly service_id: string;
  readonly region_id: string | null;
  readonly resource_name: string;
  readonly default_limit: number;
  readonly description: string | null;
}

/** A project's or domain's limit, which overrides the registered limit. */
export interface Limit extends StoredRecord {
  readonly registered_limit_id: string;
  readonly project_id: string | null;
  readonly domain_id: string | null;
  readonly resource_limit: number;
  readonly description: string | null;
}

/** A policy's blob or an OAuth consumer's secret. It is stored without effect. */
export interface PlainRecord extends StoredRecord {
  readonly [member: string]: Json;
}

/** Options of a domain by group. The id is the domain's. */
export interface DomainConfig extends StoredRecord {
  readonly config: Readonly<Record<string, Readonly<Record<string, Json>>>>;
}

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
