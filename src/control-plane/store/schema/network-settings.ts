/** Version 17: quotas of the Network service that somebody has set, and tags, which go with what they are of. */
export const networkSettings = `
CREATE TABLE network_quotas (
  project_id TEXT NOT NULL,
  resource TEXT NOT NULL,
  hard_limit INTEGER NOT NULL,
  PRIMARY KEY (project_id, resource)
) STRICT;

CREATE TABLE network_tags (
  resource_uuid TEXT NOT NULL,
  tag TEXT NOT NULL,
  PRIMARY KEY (resource_uuid, tag)
) STRICT;

${["ports", "security_groups", "security_group_rules"]
  .map(
    (table) => `CREATE TRIGGER ${table}_deleted_remove_tags AFTER DELETE ON ${table}
BEGIN
  DELETE FROM network_tags WHERE resource_uuid = OLD.uuid;
END;
`,
  )
  .join("\n")}`;
