/** Ports of servers, their addresses, and security groups. What is bound to an instance follows the instance's row. */
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
