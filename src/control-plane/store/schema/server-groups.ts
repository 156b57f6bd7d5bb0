/** Version 11: server groups and who is in them. A member goes with its instance. */
export const serverGroups = `
CREATE TABLE server_groups (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  policy TEXT NOT NULL,
  max_server_per_host INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX server_groups_by_project ON server_groups (project_id);

CREATE TABLE server_group_members (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  group_id INTEGER NOT NULL REFERENCES server_groups (id) ON DELETE CASCADE,
  instance_uuid TEXT NOT NULL UNIQUE,
  user_id TEXT NOT NULL
) STRICT;
CREATE INDEX server_group_members_by_group ON server_group_members (group_id);
`;
