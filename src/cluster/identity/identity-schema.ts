import type { SchemaStep } from "../store/schema/apply-schema.js";

/** Tables of the embedded Identity in the state of record's file. No secret is kept as it is. */
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
];
