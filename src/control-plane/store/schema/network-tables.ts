/**
 * Ports of servers, their addresses, and security groups. Records of an instance are deleted by triggers on its row.
 */
export const networkTables = `
CREATE TABLE security_groups (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  stateful INTEGER NOT NULL CHECK (stateful IN (0, 1)),
  revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX security_groups_by_project ON security_groups (project_id, name);
CREATE UNIQUE INDEX security_groups_default ON security_groups (project_id) WHERE name = 'default';

CREATE TABLE security_group_rules (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  group_uuid TEXT NOT NULL REFERENCES security_groups (uuid) ON DELETE CASCADE,
  project_id TEXT NOT NULL,
  direction TEXT NOT NULL,
  ethertype TEXT NOT NULL,
  protocol TEXT,
  port_min INTEGER,
  port_max INTEGER,
  remote_prefix TEXT,
  remote_group TEXT REFERENCES security_groups (uuid) ON DELETE CASCADE,
  description TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX security_group_rules_by_group ON security_group_rules (group_uuid);
CREATE INDEX security_group_rules_by_remote_group ON security_group_rules (remote_group);
CREATE INDEX security_group_rules_by_project ON security_group_rules (project_id);

CREATE TABLE ports (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  address INTEGER NOT NULL UNIQUE,
  mac TEXT NOT NULL UNIQUE,
  device_id TEXT NOT NULL,
  device_owner TEXT NOT NULL,
  admin_state_up INTEGER NOT NULL CHECK (admin_state_up IN (0, 1)),
  security_groups TEXT NOT NULL CHECK (json_valid(security_groups)),
  plugged_on TEXT NOT NULL CHECK (json_valid(plugged_on)),
  made_for_device INTEGER NOT NULL CHECK (made_for_device IN (0, 1)),
  tag TEXT,
  revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX ports_by_device ON ports (device_id);
CREATE INDEX ports_by_project ON ports (project_id);

CREATE TABLE next_address (address INTEGER NOT NULL) STRICT;

CREATE VIEW bound_ports AS
SELECT ports.*, instances.host FROM ports LEFT JOIN instances ON instances.uuid = ports.device_id AND instances.deleted = 0;

CREATE TRIGGER instances_deleted_release_ports AFTER UPDATE OF deleted ON instances WHEN NEW.deleted <> 0
BEGIN
  DELETE FROM ports WHERE device_id = NEW.uuid AND made_for_device = 1;
  UPDATE ports SET device_id = '', device_owner = '', plugged_on = '[]', tag = NULL, revision = revision + 1
  WHERE device_id = NEW.uuid;
END;

CREATE TRIGGER instances_not_built_release_ports AFTER UPDATE OF vm_state ON instances
WHEN NEW.vm_state = 'error' AND OLD.vm_state = 'building' AND NEW.host IS NULL
BEGIN
  DELETE FROM ports WHERE device_id = NEW.uuid AND made_for_device = 1;
  UPDATE ports SET device_id = '', device_owner = '', plugged_on = '[]', tag = NULL, revision = revision + 1
  WHERE device_id = NEW.uuid;
END;
`;

/** Version 17: explicit quotas of the Network service, and tags, which are deleted with their resource. */
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

const UNDER_WAY =
  "'accepted', 'queued', 'preparing', 'running', 'running (post-copy)', 'pre-migrating', 'post-migrating'";

/**
 * Unplugs the ports of a server whose host changes; the new host reports when it has plugged them. For a live migration
 * or an evacuation, it may have reported already.
 * A failed move unplugs them from its destination, so that the next move to the same host waits for a new report.
 */
export const portMoves = `
CREATE TRIGGER instances_moved_unplug_ports AFTER UPDATE OF host ON instances WHEN NEW.host IS NOT OLD.host
BEGIN
  UPDATE ports SET plugged_on = CASE
    WHEN NEW.host IN (SELECT value FROM json_each(ports.plugged_on)) AND EXISTS (
      SELECT 1 FROM migrations WHERE instance_uuid = NEW.uuid AND deleted = 0 AND dest_compute = NEW.host
      AND migration_type IN ('live-migration', 'evacuation')
      AND status IN (${UNDER_WAY}, 'done')
    ) THEN json_array(NEW.host) ELSE '[]' END
  WHERE device_id = NEW.uuid AND plugged_on <> '[]';
END;

CREATE TRIGGER moves_given_up_unplug_ports AFTER UPDATE OF status ON migrations
WHEN NEW.migration_type IN ('live-migration', 'evacuation') AND NEW.status IN ('failed', 'cancelled', 'error')
BEGIN
  UPDATE ports SET plugged_on = (
    SELECT json_group_array(value) FROM json_each(ports.plugged_on)
    WHERE value <> NEW.dest_compute OR value IN (SELECT host FROM instances WHERE uuid = NEW.instance_uuid AND deleted = 0)
    OR EXISTS (
      SELECT 1 FROM migrations WHERE instance_uuid = NEW.instance_uuid AND deleted = 0 AND dest_compute = value
      AND migration_type IN ('live-migration', 'evacuation') AND status IN (${UNDER_WAY})
    )
  )
  WHERE device_id = NEW.instance_uuid AND plugged_on <> '[]';
END;
`;

/**
 * Version 19: the Network service has tables of its own, to which it moves these rows when it first opens. Ports follow
 * their servers by code in the same transaction.
 */
export const flatNetwork = `
DROP TRIGGER instances_deleted_release_ports;
DROP TRIGGER instances_not_built_release_ports;
DROP TRIGGER instances_moved_unplug_ports;
DROP TRIGGER moves_given_up_unplug_ports;
DROP TRIGGER ports_deleted_remove_tags;
DROP TRIGGER security_groups_deleted_remove_tags;
DROP TRIGGER security_group_rules_deleted_remove_tags;
DROP VIEW bound_ports;
DROP TABLE next_address;
ALTER TABLE ports RENAME TO flat_ports;
ALTER TABLE security_groups RENAME TO flat_security_groups;
ALTER TABLE security_group_rules RENAME TO flat_security_group_rules;
`;
