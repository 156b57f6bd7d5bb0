import type { Migration } from "../../../records/index.js";
import type { Json } from "../../http/json.js";
import { isoMicroseconds } from "../../http/times.js";
import type { Links } from "../api/links.js";

type View = { readonly [key: string]: Json };

/** Statuses of a live migration that can still be looked at, finished or cancelled. */
export const LIVE_IN_PROGRESS: readonly string[] = ["queued", "preparing", "running", "post-migrating"];

function common(migration: Migration): View {
  return {
    source_compute: migration.sourceCompute,
    dest_compute: migration.destCompute,
    source_node: migration.sourceNode,
    dest_node: migration.destNode,
    dest_host: migration.destHost,
  };
}

function times({ createdAt, updatedAt }: Migration): View {
  return {
    created_at: isoMicroseconds(createdAt),
    updated_at: updatedAt === null ? null : isoMicroseconds(updatedAt),
  };
}

function owner({ userId, projectId }: Migration, version: number): View {
  return version >= 80 ? { user_id: userId, project_id: projectId } : {};
}

/** An entry of GET /os-migrations. */
export function migrationView(migration: Migration, version: number, links: Links): View {
  const { id, uuid, instanceUuid, migrationType, status } = migration;
  const live = migrationType === "live-migration" && LIVE_IN_PROGRESS.includes(status);
  return {
    id,
    ...(version >= 59 ? { uuid } : {}),
    ...common(migration),
    old_instance_type_id: migration.oldInstanceTypeId,
    new_instance_type_id: migration.newInstanceTypeId,
    instance_uuid: instanceUuid,
    status,
    ...(version >= 23 ? { migration_type: migrationType } : {}),
    ...owner(migration, version),
    ...times(migration),
    ...(version >= 23 && live ? { links: links.pair(`servers/${instanceUuid}/migrations/${id}`) } : {}),
  };
}

/** An entry of GET /servers/{id}/migrations. */
export function serverMigrationView(migration: Migration, version: number): View {
  return {
    id: migration.id,
    ...(version >= 59 ? { uuid: migration.uuid } : {}),
    server_uuid: migration.instanceUuid,
    ...common(migration),
    status: migration.status,
    memory_total_bytes: migration.memoryTotal,
    memory_processed_bytes: migration.memoryProcessed,
    memory_remaining_bytes: migration.memoryRemaining,
    disk_total_bytes: migration.diskTotal,
    disk_processed_bytes: migration.diskProcessed,
    disk_remaining_bytes: migration.diskRemaining,
    ...owner(migration, version),
    ...times(migration),
  };
}
