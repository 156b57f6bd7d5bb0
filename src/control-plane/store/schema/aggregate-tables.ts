/** Version 3: groups of hosts, and the projects that see a flavor which is not public. */
export const aggregateTables = `
CREATE TABLE aggregates (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  updated_at INTEGER
) STRICT;

CREATE TABLE aggregate_hosts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  aggregate_id INTEGER NOT NULL REFERENCES aggregates (id) ON DELETE CASCADE,
  host TEXT NOT NULL,
  UNIQUE (host, aggregate_id)
) STRICT;
CREATE INDEX aggregate_hosts_by_aggregate ON aggregate_hosts (aggregate_id, id);

CREATE TABLE aggregate_metadata (
  aggregate_id INTEGER NOT NULL REFERENCES aggregates (id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (aggregate_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE flavor_projects (
  flavor_id INTEGER NOT NULL REFERENCES flavors (id) ON DELETE CASCADE,
  project_id TEXT NOT NULL,
  PRIMARY KEY (flavor_id, project_id)
) STRICT, WITHOUT ROWID;
`;
