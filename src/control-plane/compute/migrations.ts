import type { MigrationFilters } from "../../conductor-client/methods/records.js";
import { MIGRATION_STATUSES, MIGRATION_TYPES, type Migration } from "../../records/index.js";
import { EventLoopTicks } from "../event-loop.js";
import { badRequest, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { schemas } from "../http/schemas.js";
import { isoMicroseconds, parseIsoTime } from "../http/times.js";
import type { Place } from "../store/conditions.js";
import type { MigrationQuery } from "../store/migrations.js";
import { type Call, type ComputeResponse, type ComputeRoute, type Links, readPage, requireAdmin } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import { boolFromText, INTEGER_TEXT, MULTI, SINGLE } from "./api/schema-parts.js";
import { SERVER_MIGRATION_ACTION_ROUTES } from "./server-migration-actions.js";
import { findServer } from "./servers/find-server.js";

type View = { readonly [key: string]: Json };

/** Statuses of a live migration in progress, which can be listed, forced to complete or aborted. */
const LIVE_IN_PROGRESS: readonly string[] = ["queued", "preparing", "running", "post-migrating"];

const TIME = SINGLE({ type: "string", format: "date-time" });

const base = {
  hidden: MULTI(),
  host: MULTI(),
  instance_uuid: MULTI(),
  source_compute: MULTI(),
  status: MULTI(),
  migration_type: MULTI(),
};

const v59 = { ...base, limit: SINGLE(INTEGER_TEXT), marker: SINGLE(), "changes-since": TIME };

const v66 = { ...v59, "changes-before": TIME };

const v80 = { ...v66, user_id: SINGLE(), project_id: SINGLE() };

const QUERY = schemas(
  [1, { type: "object", properties: base, additionalProperties: true }],
  [59, { type: "object", properties: v59, additionalProperties: false }],
  [66, { type: "object", properties: v66, additionalProperties: false }],
  [80, { type: "object", properties: v80, additionalProperties: false }],
);

export const MIGRATION_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/os-migrations", handle: listMigrations },
  { method: "GET", path: "/servers/:id/migrations", from: 23, handle: listServerMigrations },
  { method: "GET", path: "/servers/:id/migrations/:migration", from: 23, handle: showServerMigration },
  ...SERVER_MIGRATION_ACTION_ROUTES,
];

/** Handles GET /os-migrations. Before 2.59 all are sorted by id; since then they are newest first, in pages. */
async function listMigrations(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  call.checkQuery(QUERY);
  requireAdmin(call, "os_compute_api:os-migrations:index");
  const { version, links, query } = call;
  const view = (migration: Migration) => migrationView(migration, version, links);
  const selected = readQuery(call);
  if (version < 59) {
    const found = await selectMigrations(deps, selected, { limit: Number.MAX_SAFE_INTEGER });
    return { body: { migrations: found.toSorted((a, b) => a.id - b.id).map(view) } };
  }
  const { limit, marker } = readPage(call);
  const after = marker === undefined ? undefined : deps.store.migrations.place(marker);
  if (after === null) {
    throw badRequest(`Marker ${marker} could not be found.`);
  }
  const found = await selectMigrations(deps, selected, { limit, after });
  const last = found.at(-1);
  const more = last && found.length === limit;
  return {
    body: {
      migrations: found.map(view),
      ...(more ? { migrations_links: links.next("os-migrations", query, last.uuid) } : {}),
    },
  };
}

/** Rows read per query. */
const ROWS = 200;

async function selectMigrations(
  deps: ComputeDeps,
  query: MigrationQuery | undefined,
  { limit, after: start }: { readonly limit: number; readonly after?: Place | undefined },
): Promise<readonly Migration[]> {
  const found: Migration[] = [];
  const ticks = new EventLoopTicks(deps);
  let after = start;
  while (query && found.length < limit) {
    const most = Math.min(ROWS, limit - found.length);
    const rows = deps.store.migrations.newest(query, { limit: most, ...(after ? { after } : {}) });
    found.push(...rows);
    const last = rows.at(-1);
    if (last === undefined || rows.length < most) {
      break;
    }
    after = [last.createdAt, last.id];
    if (ticks.due) {
      await ticks.give();
    }
  }
  return found;
}

/** Returns undefined if no migration can match. @throws {HttpError} 400 */
function readQuery(call: Call): MigrationQuery | undefined {
  const { version } = call;
  const get = (name: string, from = 0): string | undefined => (version >= from ? call.query.get(name) : undefined);
  const since = timeOf(get("changes-since", 59));
  const before = timeOf(get("changes-before", 66));
  if (since !== undefined && before !== undefined && since > before) {
    throw badRequest("The value of changes-since must be less than or equal to changes-before.");
  }
  const filters = readFilters(get);
  const hidden = get("hidden");
  // No migration is hidden here.
  if (!filters || (hidden !== undefined && boolFromText(hidden))) {
    return undefined;
  }
  const [userId, projectId] = [get("user_id", 80), get("project_id", 80)];
  return {
    ...filters,
    ...(userId === undefined ? {} : { userId }),
    ...(projectId === undefined ? {} : { projectId }),
    ...(since === undefined ? {} : { changedSince: since }),
    ...(before === undefined ? {} : { changedBefore: before }),
  };
}

/** Returns undefined for an unknown status or type, which no migration matches. */
function readFilters(get: (name: string) => string | undefined): MigrationFilters | undefined {
  const [host, source, uuid] = [get("host"), get("source_compute"), get("instance_uuid")];
  const [status, type] = [get("status"), get("migration_type")];
  const knownStatus = MIGRATION_STATUSES.find((known) => known === status);
  const knownType = MIGRATION_TYPES.find((known) => known === type);
  if ((status !== undefined && !knownStatus) || (type !== undefined && !knownType)) {
    return undefined;
  }
  return {
    ...(host === undefined ? {} : { host }),
    ...(source === undefined ? {} : { sourceCompute: source }),
    ...(uuid === undefined ? {} : { instanceUuid: uuid }),
    ...(knownStatus ? { statuses: [knownStatus] } : {}),
    ...(knownType ? { migrationTypes: [knownType] } : {}),
  };
}

const timeOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : parseIsoTime(text));

function listServerMigrations(deps: ComputeDeps, call: Call): ComputeResponse {
  const { instance } = findServer(deps, call);
  requireAdmin(call, "os_compute_api:servers:migrations:index");
  const found = deps.store.migrations
    .byFilters({ instanceUuid: instance.uuid, migrationTypes: ["live-migration"] })
    .filter(({ status, hidden }) => LIVE_IN_PROGRESS.includes(status) && !hidden);
  return { body: { migrations: found.map((migration) => serverMigrationView(migration, call.version)) } };
}

function showServerMigration(deps: ComputeDeps, call: Call): ComputeResponse {
  const { instance } = findServer(deps, call);
  requireAdmin(call, "os_compute_api:servers:migrations:show");
  const id = call.param("migration");
  const migration = /^\d{1,15}$/.test(id) ? deps.store.migrations.get(Number(id)) : null;
  const server = call.param("id");
  if (migration?.instanceUuid !== instance.uuid) {
    throw notFound(`In-progress live migration ${id} is not found for server ${server}.`);
  }
  if (migration.migrationType !== "live-migration") {
    throw notFound(`Migration ${id} for server ${server} is not live-migration.`);
  }
  if (!LIVE_IN_PROGRESS.includes(migration.status)) {
    throw notFound(`Live migration ${id} for server ${server} is not in progress.`);
  }
  return { body: { migration: serverMigrationView(migration, call.version) } };
}

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

/** Renders an entry of GET /os-migrations. */
function migrationView(migration: Migration, version: number, links: Links): View {
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

/** Renders an entry of GET /servers/{id}/migrations. */
function serverMigrationView(migration: Migration, version: number): View {
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
