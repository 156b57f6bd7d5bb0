import {
  BUILD_REQUEST,
  type BuildRequest,
  FINAL_MIGRATION_STATUSES,
  type Instance,
  type InstanceChanges,
  REQUEST_SPEC,
  type RequestSpec,
} from "../../records/index.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

const MOVES = "deleted = 0 AND status NOT IN (SELECT value FROM json_each(?2))";

/**
 * A claim precedes the record that explains it: a build's claim precedes its host, a move's its destination.
 * A migration's allocations are removed after its status has become final. A single statement, since there may be
 * thousands of consumers.
 */
const UNDER_WAY = `
SELECT value FROM json_each(?1) AS consumer
WHERE EXISTS (SELECT 1 FROM build_requests WHERE instance_uuid = consumer.value)
  OR CASE
    WHEN EXISTS (SELECT 1 FROM migrations WHERE uuid = consumer.value)
    THEN EXISTS (
      SELECT 1 FROM migrations WHERE uuid = consumer.value
        AND (status NOT IN (SELECT value FROM json_each(?2)) OR coalesce(updated_at, created_at) > ?3)
    )
    ELSE EXISTS (
      SELECT 1 FROM instances WHERE uuid = consumer.value AND deleted = 0 AND (
        task_state IS NOT NULL
        OR (vm_state = 'building' AND host IS NULL)
        OR EXISTS (SELECT 1 FROM migrations WHERE instance_uuid = consumer.value AND ${MOVES})
      )
    )
  END`;

const SPECS = tableOf("request_specs", REQUEST_SPEC);

const BUILDS = tableOf("build_requests", BUILD_REQUEST);

/** Tables `request_specs` and `build_requests` (spec 1.6). */
export function createRequestTables({ sql, clock }: StoreContext) {
  const specs = new Table(sql, SPECS);
  const builds = new Table(sql, BUILDS);

  return {
    createSpec(spec: RequestSpec): void {
      specs.insert(spec);
    },
    spec,
    /** Returns the availability zone to which a server is pinned; null if none. */
    pinnedZone(instanceUuid: string): string | null {
      const text = "SELECT availability_zone FROM request_specs WHERE instance_uuid = ?";
      return (sql.get(text, instanceUuid)?.[0] ?? null) as string | null;
    },
    /** Returns the availability zones of the servers that are pinned to one. */
    pinnedZones(instanceUuids: readonly string[]): ReadonlyMap<string, string> {
      const text = `SELECT instance_uuid, availability_zone FROM request_specs
        WHERE instance_uuid IN (SELECT value FROM json_each(?)) AND availability_zone IS NOT NULL`;
      const rows = sql.all(text, JSON.stringify(instanceUuids));
      return new Map(rows.map(([uuid, zone]) => [String(uuid), String(zone)]));
    },
    saveSpec,
    /** Changes the spec of an instance; ignored if it has none. */
    changeSpec(instanceUuid: string, changes: Partial<RequestSpec>): void {
      const found = spec(instanceUuid);
      if (found !== null) {
        saveSpec({ ...found, ...changes });
      }
    },
    createBuildRequest(request: Omit<BuildRequest, "createdAt">): void {
      builds.insert({ ...request, createdAt: clock.now() });
    },
    buildRequest: (instanceUuid: string): BuildRequest | null => builds.one("instance_uuid = ?", instanceUuid),
    /** Changes a server that is requested but not yet created. */
    saveBuilding(building: Instance, changes: InstanceChanges): Instance {
      const instance = { ...building, ...changes, updatedAt: clock.now() };
      builds.update(sql.number("SELECT id FROM build_requests WHERE instance_uuid = ?", instance.uuid), { instance });
      return instance;
    },
    buildRequests: (projectId?: string): BuildRequest[] =>
      builds.many("?1 IS NULL OR project_id = ?1 ORDER BY id DESC", projectId ?? null),
    /**
     * Returns the consumers whose build or move is still in progress.
     * @param endedAfter also includes migrations that ended after this time, ms
     */
    consumersUnderWay: (consumers: readonly string[], endedAfter: number): string[] =>
      sql.strings(UNDER_WAY, JSON.stringify(consumers), JSON.stringify(FINAL_MIGRATION_STATUSES), endedAfter),
    /** Returns false if it does not exist: the build was cancelled, or is in progress. */
    destroyBuildRequest: (instanceUuid: string): boolean =>
      sql.run("DELETE FROM build_requests WHERE instance_uuid = ?", instanceUuid).changes > 0,
  };

  function spec(instanceUuid: string): RequestSpec | null {
    return specs.one("instance_uuid = ?", instanceUuid);
  }

  function saveSpec(saved: RequestSpec): void {
    sql.transaction(() => {
      sql.execute("DELETE FROM request_specs WHERE instance_uuid = ?", saved.instanceUuid);
      specs.insert(saved);
    });
  }
}
