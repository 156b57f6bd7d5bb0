import type { SchemaStep } from "../../database/schema-steps.js";
import { computeTables } from "./compute-tables.js";
import { flatNetwork, networkSettings, networkTables, portMoves } from "./network-tables.js";

/** Version 2: tasks and messages of the conductor, its replies to calls, and the lease of each host. */
const conductorTables = `
CREATE TABLE tasks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  task TEXT NOT NULL CHECK (json_valid(task)),
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  host TEXT NOT NULL,
  method TEXT NOT NULL,
  params TEXT NOT NULL CHECK (json_valid(params)),
  request_id TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_by_host ON messages (host, id);

CREATE TABLE answers (
  boot_id TEXT NOT NULL,
  call_id INTEGER NOT NULL,
  answer TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (boot_id, call_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX answers_by_age ON answers (created_at);

CREATE TABLE host_leases (
  host TEXT PRIMARY KEY,
  boot_id TEXT NOT NULL,
  pid INTEGER NOT NULL,
  machine TEXT NOT NULL,
  acquired_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT;
`;

/** Version 3: aggregates, and access to flavors that are not public. */
const aggregateTables = `
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

/**
 * Version 4: a host is mapped to the cell when it gets a compute node, as if hosts were discovered continuously.
 * Deleting its service removes the mapping (spec 7.1 step 7).
 */
const hostMappingRules = `
INSERT OR IGNORE INTO host_mappings (host) SELECT host FROM compute_nodes WHERE deleted = 0;

CREATE TRIGGER compute_nodes_map_host AFTER INSERT ON compute_nodes
BEGIN INSERT OR IGNORE INTO host_mappings (host) VALUES (NEW.host); END;

CREATE TRIGGER compute_nodes_map_moved_host AFTER UPDATE OF host, deleted ON compute_nodes
WHEN NEW.deleted = 0 AND (OLD.deleted <> 0 OR NEW.host <> OLD.host)
BEGIN INSERT OR IGNORE INTO host_mappings (host) VALUES (NEW.host); END;
`;

/** Version 5: the request that set the task_state, and the one that deletes; null for operations in progress. */
const taskRequests = `
ALTER TABLE instances ADD COLUMN task_request_id TEXT;
ALTER TABLE instances ADD COLUMN delete_request_id TEXT;
`;

/**
 * Version 6: the number of ownership changes of each host. It outlives the leases, so that a later owner always has a
 * greater number.
 */
const hostEpochs = `
CREATE TABLE host_epochs (
  host TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL CHECK (epoch > 0)
) STRICT, WITHOUT ROWID;
`;

/** Version 7: each scheduling request, and each agent at its start, queries the oldest service of a binary. */
const hotLookups = `
CREATE INDEX services_by_version ON services (binary, version) WHERE deleted = 0;
`;

/** Version 8: indexes for lists in a large deployment, in their sort order. */
const listIndexes = `
CREATE INDEX instances_alive_by_age ON instances (created_at) WHERE deleted = 0;
CREATE INDEX instances_alive_by_state ON instances (vm_state, created_at) WHERE deleted = 0;
CREATE INDEX migrations_alive_by_age ON migrations (created_at) WHERE deleted = 0;
`;

/** Version 9: key pairs, access IPs, automatic disk configuration. */
const userResources = `
CREATE TABLE key_pairs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  user_id TEXT NOT NULL,
  name TEXT NOT NULL,
  type TEXT NOT NULL,
  public_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (user_id, name)
) STRICT;

ALTER TABLE instances ADD COLUMN key_data TEXT;
ALTER TABLE instances ADD COLUMN access_ip_v4 TEXT;
ALTER TABLE instances ADD COLUMN access_ip_v6 TEXT;
ALTER TABLE instances ADD COLUMN auto_disk_config INTEGER NOT NULL DEFAULT 0;
`;

/** Version 11: server groups and their members. A member is deleted with its instance. */
const serverGroups = `
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

/** Version 12: limits of projects and their users (`user_id` is empty for the project's own), and quota classes. */
const quotas = `
CREATE TABLE quotas (
  project_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  resource TEXT NOT NULL,
  hard_limit INTEGER NOT NULL,
  PRIMARY KEY (project_id, user_id, resource)
) STRICT;

CREATE TABLE quota_classes (
  class_name TEXT NOT NULL,
  resource TEXT NOT NULL,
  hard_limit INTEGER NOT NULL,
  PRIMARY KEY (class_name, resource)
) STRICT;
`;

/** Version 14: injected files of servers. */
const injectedFiles = `
ALTER TABLE instances ADD COLUMN injected_files TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(injected_files));
`;

/** Version 15: scheduler hints. */
const schedulerHints = `
ALTER TABLE request_specs ADD COLUMN scheduler_hints TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(scheduler_hints));
`;

/** Version 16: records of the hosts' usage audits. */
const taskLog = `
CREATE TABLE task_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  task_name TEXT NOT NULL,
  host TEXT NOT NULL,
  period_beginning INTEGER NOT NULL,
  period_ending INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('RUNNING', 'DONE')),
  message TEXT NOT NULL,
  task_items INTEGER NOT NULL,
  errors INTEGER NOT NULL,
  UNIQUE (task_name, period_beginning, period_ending, host)
) STRICT;
`;

/** Version 20: block devices of servers, which exist from the request to build one. */
const blockDevices = `
CREATE TABLE block_device_mappings (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  instance_uuid TEXT NOT NULL,
  source_type TEXT NOT NULL,
  destination_type TEXT NOT NULL,
  guest_format TEXT,
  boot_index INTEGER,
  snapshot_id TEXT,
  image_id TEXT,
  volume_type TEXT,
  tag TEXT,
  device_name TEXT,
  disk_bus TEXT,
  device_type TEXT,
  volume_id TEXT,
  volume_size INTEGER,
  attachment_id TEXT,
  connection_info TEXT CHECK (json_valid(connection_info)),
  delete_on_termination INTEGER NOT NULL CHECK (delete_on_termination IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER
) STRICT;
CREATE INDEX block_device_mappings_by_instance ON block_device_mappings (instance_uuid);
CREATE INDEX block_device_mappings_by_volume ON block_device_mappings (volume_id);
`;

/** The migrations of the store (spec 1). */
export const STORE_SCHEMA: readonly SchemaStep[] = [
  { version: 1, name: "services, compute nodes, instances, migrations, flavors", sql: computeTables },
  { version: 2, name: "tasks, messages, answers, host leases", sql: conductorTables },
  { version: 3, name: "aggregates, projects of flavors", sql: aggregateTables },
  { version: 4, name: "hosts are mapped when they get a compute node", sql: hostMappingRules },
  { version: 5, name: "instances know whose their task is, and of an acknowledged delete", sql: taskRequests },
  { version: 6, name: "epochs of hosts", sql: hostEpochs },
  { version: 7, name: "the oldest service of a kind", sql: hotLookups },
  { version: 8, name: "indexes of lists", sql: listIndexes },
  { version: 9, name: "key pairs, and what else users bring along", sql: userResources },
  { version: 10, name: "ports and security groups", sql: networkTables },
  { version: 11, name: "server groups and their members", sql: serverGroups },
  { version: 12, name: "quotas", sql: quotas },
  { version: 13, name: "ports of servers that move", sql: portMoves },
  { version: 14, name: "files that servers begin with", sql: injectedFiles },
  { version: 15, name: "hints for the scheduler", sql: schedulerHints },
  { version: 16, name: "what hosts note of their audits", sql: taskLog },
  { version: 17, name: "tags and quotas of the network", sql: networkSettings },
  {
    version: 18,
    name: "leases are renewed",
    sql: "ALTER TABLE host_leases RENAME COLUMN seen_at TO renewed_at;",
  },
  { version: 19, name: "ports and security groups belong to the Network service", sql: flatNetwork },
  { version: 20, name: "block devices of servers", sql: blockDevices },
];
