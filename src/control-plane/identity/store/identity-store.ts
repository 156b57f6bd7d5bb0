import type { Sql } from "../../database/sql.js";
import { GrantTable } from "../grants/grant-table.js";
import { PairTable } from "./pair-table.js";
import { NamedTable, RecordTable } from "./record-table.js";
import type {
  AccessRule,
  ApplicationCredential,
  Credential,
  DomainConfig,
  Endpoint,
  EndpointGroup,
  Group,
  Limit,
  PlainRecord,
  Project,
  Region,
  RegisteredLimit,
  Role,
  Service,
  User,
} from "./records.js";

/** What Identity knows, in the state of record's file. Nobody else writes its tables while it runs. */
export class IdentityStore {
  readonly sql: Sql;
  readonly projects: NamedTable<Project>;
  readonly users: NamedTable<User>;
  readonly groups: NamedTable<Group>;
  readonly roles: NamedTable<Role>;
  readonly services: RecordTable<Service>;
  readonly endpoints: RecordTable<Endpoint>;
  readonly regions: RecordTable<Region>;
  readonly endpointGroups: RecordTable<EndpointGroup>;
  readonly credentials: RecordTable<Credential>;
  readonly policies: RecordTable<PlainRecord>;
  readonly consumers: RecordTable<PlainRecord>;
  readonly applicationCredentials: RecordTable<ApplicationCredential>;
  readonly accessRules: RecordTable<AccessRule>;
  readonly domainConfigs: RecordTable<DomainConfig>;
  readonly registeredLimits: RecordTable<RegisteredLimit>;
  readonly limits: RecordTable<Limit>;
  readonly grants: GrantTable;
  /** Groups and their users. */
  readonly members: PairTable;
  /** Roles and what they imply. */
  readonly impliedRoles: PairTable;
  #changes = 0;

  /** @param sql whose tables are up to date */
  constructor(sql: Sql) {
    this.sql = sql;
    const changed = () => {
      this.#changes += 1;
    };
    this.projects = new NamedTable(sql, "identity_projects", changed);
    this.users = new NamedTable(sql, "identity_users", changed);
    this.groups = new NamedTable(sql, "identity_groups", changed);
    this.roles = new NamedTable(sql, "identity_roles", changed);
    this.services = new RecordTable(sql, "identity_services", changed);
    this.endpoints = new RecordTable(sql, "identity_endpoints", changed);
    this.regions = new RecordTable(sql, "identity_regions", changed);
    this.endpointGroups = new RecordTable(sql, "identity_endpoint_groups", changed);
    this.credentials = new RecordTable(sql, "identity_credentials", changed);
    this.policies = new RecordTable(sql, "identity_policies", changed);
    this.consumers = new RecordTable(sql, "identity_consumers", changed);
    this.applicationCredentials = new RecordTable(sql, "identity_application_credentials", changed);
    this.accessRules = new RecordTable(sql, "identity_access_rules", changed);
    this.domainConfigs = new RecordTable(sql, "identity_domain_configs", changed);
    this.registeredLimits = new RecordTable(sql, "identity_registered_limits", changed);
    this.limits = new RecordTable(sql, "identity_limits", changed);
    this.grants = new GrantTable(sql, changed);
    this.members = new PairTable(sql, "identity_members", ["group_id", "user_id"], changed);
    this.impliedRoles = new PairTable(sql, "identity_implied_roles", ["prior_id", "implied_id"], changed);
  }

  /** How often something was written: what was worked out before a change may hold no more. */
  get changes(): number {
    return this.#changes;
  }

  /** The domain of that id. */
  domain(id: string): Project | undefined {
    const found = this.projects.get(id);
    return found?.is_domain ? found : undefined;
  }
}
