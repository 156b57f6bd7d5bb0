/**
 * Version 1 (spec 1.1-1.6). Rows of soft-deleted tables have `deleted = 0`, and `deleted = id` after deletion, so that
 * unique indexes on it apply only to rows that are not deleted.
 * The states are listed literally, because a released migration never changes.
 */
export const computeTables = `
CREATE TABLE services (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  host TEXT NOT NULL,
  binary TEXT NOT NULL,
  topic TEXT NOT NULL,
  report_count INTEGER NOT NULL DEFAULT 0,
  last_seen_up INTEGER,
  disabled INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
  disabled_reason TEXT,
  forced_down INTEGER NOT NULL DEFAULT 0 CHECK (forced_down IN (0, 1)),
  version INTEGER NOT NULL CHECK (version >= 0),
  availability_zone TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER,
  deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, id)),
  deleted_at INTEGER,
  UNIQUE (host, topic, deleted),
  UNIQUE (host, binary, deleted)
) STRICT;

CREATE TABLE compute_nodes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  host TEXT NOT NULL,
  service_id INTEGER REFERENCES services (id),
  hypervisor_hostname TEXT NOT NULL,
  mapped INTEGER NOT NULL DEFAULT 0,
  host_ip TEXT,
  vcpus INTEGER NOT NULL,
  memory_mb INTEGER NOT NULL,
  local_gb INTEGER NOT NULL,
  vcpus_used INTEGER NOT NULL,
  memory_mb_used INTEGER NOT NULL,
  local_gb_used INTEGER NOT NULL,
  free_ram_mb INTEGER NOT NULL,
  free_disk_gb INTEGER NOT NULL,
  running_vms INTEGER NOT NULL,
  current_workload INTEGER NOT NULL,
  disk_available_least INTEGER,
  hypervisor_type TEXT NOT NULL,
  hypervisor_version INTEGER NOT NULL,
  cpu_info TEXT NOT NULL,
  supported_hv_specs TEXT NOT NULL CHECK (json_valid(supported_hv_specs)),
  cpu_allocation_ratio REAL,
  ram_allocation_ratio REAL,
  disk_allocation_ratio REAL,
  stats TEXT NOT NULL CHECK (json_valid(stats)),
  metrics TEXT NOT NULL,
  numa_topology TEXT,
  pci_device_pools TEXT NOT NULL CHECK (json_valid(pci_device_pools)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER,
  deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, id)),
  deleted_at INTEGER,
  UNIQUE (host, hypervisor_hostname, deleted)
) STRICT;
CREATE INDEX compute_nodes_by_name ON compute_nodes (hypervisor_hostname, deleted);
CREATE INDEX compute_nodes_by_service ON compute_nodes (service_id);
CREATE TRIGGER compute_nodes_uuid BEFORE UPDATE OF uuid ON compute_nodes WHEN NEW.uuid <> OLD.uuid
BEGIN SELECT RAISE(ABORT, 'the uuid of a compute node never changes'); END;

CREATE TABLE instances (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  display_name TEXT NOT NULL,
  display_description TEXT,
  hostname TEXT NOT NULL,
  reservation_id TEXT NOT NULL,
  launch_index INTEGER NOT NULL,
  image_ref TEXT NOT NULL,
  host TEXT,
  node TEXT,
  compute_id INTEGER REFERENCES compute_nodes (id),
  launched_on TEXT,
  availability_zone TEXT,
  vm_state TEXT NOT NULL CHECK (vm_state IN (
    'building', 'active', 'paused', 'suspended', 'stopped', 'rescued', 'resized', 'soft-delete',
    'deleted', 'error', 'shelved', 'shelved_offloaded'
  )),
  task_state TEXT CHECK (task_state IN (
    'scheduling', 'networking', 'block_device_mapping', 'spawning', 'image_snapshot',
    'image_snapshot_pending', 'image_pending_upload', 'image_uploading', 'image_backup', 'resize_prep',
    'resize_migrating', 'resize_migrated', 'resize_finish', 'resize_reverting', 'resize_confirming',
    'rebooting', 'reboot_pending', 'reboot_started', 'rebooting_hard', 'reboot_pending_hard',
    'reboot_started_hard', 'pausing', 'unpausing', 'suspending', 'resuming', 'powering-off',
    'powering-on', 'rescuing', 'unrescuing', 'rebuilding', 'rebuild_block_device_mapping',
    'rebuild_spawning', 'migrating', 'deleting', 'soft-deleting', 'restoring', 'shelving',
    'shelving_image_pending_upload', 'shelving_image_uploading', 'shelving_offloading', 'unshelving',
    'updating_password'
  )),
  power_state INTEGER NOT NULL CHECK (power_state IN (0, 1, 3, 4, 6, 7)),
  flavor TEXT NOT NULL CHECK (json_valid(flavor)),
  old_flavor TEXT CHECK (json_valid(old_flavor)),
  new_flavor TEXT CHECK (json_valid(new_flavor)),
  instance_type_id INTEGER NOT NULL,
  vcpus INTEGER NOT NULL,
  memory_mb INTEGER NOT NULL,
  root_gb INTEGER NOT NULL,
  ephemeral_gb INTEGER NOT NULL,
  metadata TEXT NOT NULL CHECK (json_valid(metadata)),
  system_metadata TEXT NOT NULL CHECK (json_valid(system_metadata)),
  migration_context TEXT CHECK (json_valid(migration_context)),
  config_drive INTEGER NOT NULL CHECK (config_drive IN (0, 1)),
  key_name TEXT,
  user_data TEXT,
  tags TEXT NOT NULL CHECK (json_valid(tags)),
  locked INTEGER NOT NULL CHECK (locked IN (0, 1)),
  locked_reason TEXT,
  progress INTEGER NOT NULL CHECK (progress BETWEEN 0 AND 100),
  hidden INTEGER NOT NULL CHECK (hidden IN (0, 1)),
  cleaned INTEGER NOT NULL CHECK (cleaned IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER,
  launched_at INTEGER,
  terminated_at INTEGER,
  deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, id)),
  deleted_at INTEGER,
  CONSTRAINT host_node_and_compute_id_together
    CHECK ((host IS NULL) = (node IS NULL) AND (node IS NULL) = (compute_id IS NULL))
) STRICT;
CREATE INDEX instances_by_host ON instances (host, node, deleted);
CREATE INDEX instances_by_project ON instances (project_id, deleted, created_at);
CREATE INDEX instances_by_age ON instances (created_at);
CREATE INDEX instances_by_compute_id ON instances (compute_id);

CREATE TABLE instance_faults (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  instance_uuid TEXT NOT NULL REFERENCES instances (uuid),
  code INTEGER NOT NULL,
  message TEXT NOT NULL,
  details TEXT,
  host TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX instance_faults_by_instance ON instance_faults (instance_uuid);

CREATE TABLE migrations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT UNIQUE,
  instance_uuid TEXT NOT NULL REFERENCES instances (uuid),
  migration_type TEXT NOT NULL CHECK (migration_type IN ('migration', 'resize', 'live-migration', 'evacuation')),
  status TEXT NOT NULL CHECK (status IN (
    'accepted', 'queued', 'preparing', 'running', 'running (post-copy)', 'pre-migrating', 'migrating',
    'post-migrating', 'finished', 'confirming', 'confirmed', 'reverting', 'reverted', 'done',
    'completed', 'cancelled', 'failed', 'error'
  )),
  source_compute TEXT,
  source_node TEXT,
  dest_compute TEXT,
  dest_node TEXT,
  dest_compute_id INTEGER REFERENCES compute_nodes (id),
  dest_host TEXT,
  old_instance_type_id INTEGER,
  new_instance_type_id INTEGER,
  hidden INTEGER NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1)),
  cross_cell_move INTEGER NOT NULL DEFAULT 0 CHECK (cross_cell_move IN (0, 1)),
  user_id TEXT,
  project_id TEXT,
  memory_total INTEGER,
  memory_processed INTEGER,
  memory_remaining INTEGER,
  disk_total INTEGER,
  disk_processed INTEGER,
  disk_remaining INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER,
  deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, id)),
  deleted_at INTEGER
) STRICT;
CREATE INDEX migrations_by_instance ON migrations (instance_uuid, deleted);
CREATE INDEX migrations_by_source ON migrations (source_compute, source_node, status);
CREATE INDEX migrations_by_dest ON migrations (dest_compute, dest_node, status);
CREATE INDEX migrations_by_dest_compute_id ON migrations (dest_compute_id);
CREATE TRIGGER migrations_dest_node BEFORE INSERT ON migrations
WHEN NEW.dest_node IS NOT NULL AND NEW.dest_compute_id IS NULL
BEGIN SELECT RAISE(ABORT, 'a migration with dest_node needs dest_compute_id'); END;

CREATE TABLE flavors (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  flavorid TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL UNIQUE,
  vcpus INTEGER NOT NULL,
  memory_mb INTEGER NOT NULL,
  root_gb INTEGER NOT NULL,
  ephemeral_gb INTEGER NOT NULL,
  swap INTEGER NOT NULL,
  rxtx_factor REAL NOT NULL,
  disabled INTEGER NOT NULL CHECK (disabled IN (0, 1)),
  is_public INTEGER NOT NULL CHECK (is_public IN (0, 1)),
  extra_specs TEXT NOT NULL CHECK (json_valid(extra_specs)),
  description TEXT
) STRICT;

CREATE TABLE instance_actions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  action TEXT NOT NULL,
  instance_uuid TEXT NOT NULL REFERENCES instances (uuid),
  request_id TEXT NOT NULL,
  user_id TEXT,
  project_id TEXT,
  start_time INTEGER NOT NULL,
  finish_time INTEGER,
  message TEXT,
  updated_at INTEGER
) STRICT;
CREATE INDEX instance_actions_by_instance ON instance_actions (instance_uuid, request_id);

CREATE TABLE instance_action_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  action_id INTEGER NOT NULL REFERENCES instance_actions (id),
  event TEXT NOT NULL,
  start_time INTEGER NOT NULL,
  finish_time INTEGER,
  result TEXT CHECK (result IN ('Success', 'Error')),
  traceback TEXT,
  details TEXT,
  host TEXT
) STRICT;
CREATE INDEX instance_action_events_by_action ON instance_action_events (action_id);

CREATE TABLE request_specs (
  instance_uuid TEXT PRIMARY KEY,
  project_id TEXT NOT NULL,
  user_id TEXT NOT NULL,
  flavor TEXT NOT NULL CHECK (json_valid(flavor)),
  image_ref TEXT NOT NULL,
  is_bfv INTEGER NOT NULL CHECK (is_bfv IN (0, 1)),
  availability_zone TEXT,
  num_instances INTEGER NOT NULL
) STRICT;

CREATE TABLE build_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  instance_uuid TEXT NOT NULL UNIQUE,
  project_id TEXT NOT NULL,
  instance TEXT NOT NULL CHECK (json_valid(instance)),
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE instance_mappings (
  instance_uuid TEXT PRIMARY KEY,
  project_id TEXT NOT NULL,
  cell TEXT CHECK (cell IN ('cell0', 'cell1')),
  queued_for_delete INTEGER NOT NULL DEFAULT 0 CHECK (queued_for_delete IN (0, 1))
) STRICT;

CREATE TABLE host_mappings (host TEXT PRIMARY KEY) STRICT;
`;
