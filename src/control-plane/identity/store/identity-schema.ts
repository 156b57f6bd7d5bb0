import type { SchemaStep } from "../../database/schema-steps.js";

/** SQL of a table of JSON documents. @param unique expressions over `body` */
function records(table: string, unique?: string): string {
  return `
CREATE TABLE ${table} (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  body TEXT NOT NULL CHECK (json_valid(body))
) STRICT;
${unique === undefined ? "" : `CREATE UNIQUE INDEX ${table}_unique ON ${table} (${unique});`}
`;
}

const NAME = "json_extract(body, '$.name')";
const NAME_IN_DOMAIN = `coalesce(json_extract(body, '$.domain_id'), ''), ${NAME}`;

function index(table: string, member: string): string {
  return `CREATE INDEX ${table}_by_${member} ON ${table} (json_extract(body, '$.${member}'));`;
}

/** SQL of a column with the name's comparison key, unique within a domain. It is null if another record already has the key. */
function nameKeyColumn(table: string): string {
  return `
ALTER TABLE ${table} ADD COLUMN name_key TEXT;
CREATE UNIQUE INDEX ${table}_by_key ON ${table} (coalesce(json_extract(body, '$.domain_id'), ''), name_key);
`;
}

/** Tables of the embedded Identity. Secrets are stored only as digests. */
export const IDENTITY_SCHEMA: readonly SchemaStep[] = [
  {
    version: 1,
    name: "passwords and tokens",
    sql: `
CREATE TABLE identity_passwords (
  user_id TEXT PRIMARY KEY,
  salt TEXT NOT NULL,
  digest TEXT NOT NULL
) STRICT;

CREATE TABLE identity_tokens (
  digest TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  project_id TEXT,
  system INTEGER NOT NULL CHECK (system IN (0, 1)),
  methods TEXT NOT NULL,
  audit_ids TEXT NOT NULL,
  issued_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;

CREATE INDEX identity_tokens_expires_at ON identity_tokens (expires_at);
`,
  },
  {
    version: 2,
    name: "projects and users of a cluster file",
    sql: `
CREATE TABLE identity_projects (
  name TEXT PRIMARY KEY,
  description TEXT NOT NULL
) STRICT;

CREATE TABLE identity_users (
  name TEXT PRIMARY KEY,
  roles TEXT NOT NULL
) STRICT;
`,
  },
  {
    version: 3,
    name: "all of Identity's records",
    // SQL cannot compute the ids of a cluster file's records, so the next start migrates these rows from their own
    // tables.
    sql: `
ALTER TABLE identity_projects RENAME TO identity_projects_to_move;
ALTER TABLE identity_users RENAME TO identity_users_to_move;
${records("identity_projects", NAME_IN_DOMAIN)}
${index("identity_projects", "domain_id")}
${index("identity_projects", "parent_id")}
${records("identity_users", NAME_IN_DOMAIN)}
${index("identity_users", "domain_id")}
${records("identity_groups", NAME_IN_DOMAIN)}
${index("identity_groups", "domain_id")}
${records("identity_roles", NAME_IN_DOMAIN)}
${records("identity_services")}
${records("identity_endpoints")}
${records("identity_regions")}
${records("identity_endpoint_groups", NAME)}
${records("identity_credentials")}
${index("identity_credentials", "user_id")}
${records("identity_policies")}
${records("identity_consumers")}
${records("identity_application_credentials", `json_extract(body, '$.user_id'), ${NAME}`)}
${records("identity_access_rules")}
${index("identity_access_rules", "user_id")}
${records("identity_domain_configs")}

CREATE TABLE identity_from_file (id TEXT PRIMARY KEY) STRICT;

CREATE TABLE identity_grants (
  actor TEXT NOT NULL CHECK (actor IN ('user', 'group')),
  actor_id TEXT NOT NULL,
  target TEXT NOT NULL CHECK (target IN ('project', 'domain', 'system')),
  target_id TEXT NOT NULL,
  role_id TEXT NOT NULL,
  inherited INTEGER NOT NULL CHECK (inherited IN (0, 1)),
  PRIMARY KEY (actor, actor_id, target, target_id, role_id, inherited)
) STRICT;
CREATE INDEX identity_grants_by_target ON identity_grants (target, target_id);

CREATE TABLE identity_members (
  group_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  PRIMARY KEY (group_id, user_id)
) STRICT;
CREATE INDEX identity_members_by_user ON identity_members (user_id);

CREATE TABLE identity_implied_roles (
  prior_id TEXT NOT NULL,
  implied_id TEXT NOT NULL,
  PRIMARY KEY (prior_id, implied_id)
) STRICT;

ALTER TABLE identity_passwords ADD COLUMN scheme TEXT NOT NULL DEFAULT 'sha256';
ALTER TABLE identity_tokens ADD COLUMN domain_id TEXT;
ALTER TABLE identity_tokens ADD COLUMN application_credential_id TEXT;
CREATE INDEX identity_tokens_by_user ON identity_tokens (user_id);
`,
  },
  {
    version: 4,
    name: "unified limits",
    sql: `
${records("identity_registered_limits", "json_extract(body, '$.service_id'), json_extract(body, '$.resource_name'), coalesce(json_extract(body, '$.region_id'), '')")}
${records("identity_limits", "json_extract(body, '$.registered_limit_id'), coalesce(json_extract(body, '$.project_id'), ''), coalesce(json_extract(body, '$.domain_id'), '')")}
`,
  },
  {
    version: 5,
    name: "roles of a token",
    sql: `
ALTER TABLE identity_tokens ADD COLUMN more_roles TEXT NOT NULL DEFAULT '';
`,
  },
  {
    version: 6,
    name: "names in any case",
    // SQL cannot compute the keys, so the next start fills them in.
    sql: ["identity_projects", "identity_users", "identity_groups", "identity_roles"].map(nameKeyColumn).join(""),
  },
];
