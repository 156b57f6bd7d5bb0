import {
  BUILD_REQUEST,
  type BuildRequest,
  type Instance,
  type InstanceChanges,
  REQUEST_SPEC,
  type RequestSpec,
} from "../../records/index.js";
import { consumersUnderWay } from "./consumers-under-way.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

const SPECS = tableOf("request_specs", REQUEST_SPEC);
const BUILDS = tableOf("build_requests", BUILD_REQUEST);

/** Tables `request_specs` and `build_requests` (spec 1.6). */
export class Requests {
  readonly #context: StoreContext;
  readonly #specs: Table<RequestSpec>;
  readonly #builds: Table<BuildRequest>;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#specs = new Table(context.sql, SPECS);
    this.#builds = new Table(context.sql, BUILDS);
  }

  createSpec(spec: RequestSpec): void {
    this.#specs.insert(spec);
  }

  spec(instanceUuid: string): RequestSpec | null {
    return this.#specs.one("instance_uuid = ?", instanceUuid);
  }

  /** The availability zone to which a server is pinned; null: to none. */
  pinnedZone(instanceUuid: string): string | null {
    const text = "SELECT availability_zone FROM request_specs WHERE instance_uuid = ?";
    return (this.#context.sql.get(text, instanceUuid)?.[0] ?? null) as string | null;
  }

  /** The availability zones to which servers are pinned, of those that are. */
  pinnedZones(instanceUuids: readonly string[]): ReadonlyMap<string, string> {
    const text = `SELECT instance_uuid, availability_zone FROM request_specs
      WHERE instance_uuid IN (SELECT value FROM json_each(?)) AND availability_zone IS NOT NULL`;
    const rows = this.#context.sql.all(text, JSON.stringify(instanceUuids));
    return new Map(rows.map(([uuid, zone]) => [String(uuid), String(zone)]));
  }

  saveSpec(spec: RequestSpec): void {
    const { sql } = this.#context;
    sql.transaction(() => {
      sql.execute("DELETE FROM request_specs WHERE instance_uuid = ?", spec.instanceUuid);
      this.#specs.insert(spec);
    });
  }

  createBuildRequest(request: Omit<BuildRequest, "createdAt">): void {
    this.#builds.insert({ ...request, createdAt: this.#context.clock.now() });
  }

  buildRequest(instanceUuid: string): BuildRequest | null {
    return this.#builds.one("instance_uuid = ?", instanceUuid);
  }

  /** Changes what a server that is only asked for will be made with. */
  saveBuilding(building: Instance, changes: InstanceChanges): Instance {
    const { sql, clock } = this.#context;
    const instance = { ...building, ...changes, updatedAt: clock.now() };
    const [id] = sql.get("SELECT id FROM build_requests WHERE instance_uuid = ?", instance.uuid) ?? [];
    this.#builds.update(Number(id), { instance });
    return instance;
  }

  buildRequests(projectId?: string): BuildRequest[] {
    return this.#builds.many("?1 IS NULL OR project_id = ?1 ORDER BY id DESC", projectId ?? null);
  }

  /**
   * Consumers of allocations that a build or a move still works on.
   * @param endedAfter a migration that ended later counts; ms
   */
  consumersUnderWay(consumers: readonly string[], endedAfter: number): string[] {
    return consumersUnderWay(this.#context.sql, consumers, endedAfter);
  }

  /** False when it was not there: the build was cancelled (or is under way). */
  destroyBuildRequest(instanceUuid: string): boolean {
    return this.#context.sql.run("DELETE FROM build_requests WHERE instance_uuid = ?", instanceUuid).changes > 0;
  }
}
