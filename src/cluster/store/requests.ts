import type { BuildRequest, Instance, RequestSpec } from "../../conductor/records/index.js";
import * as check from "./check.js";
import * as codec from "./codec.js";
import { INSTANCE_COLUMNS } from "./instance-columns.js";
import { flavorShape, MOST } from "./shapes.js";
import type { RequestStore } from "./store.js";
import type { StoreContext } from "./store-context.js";
import { type Columns, Table } from "./table.js";

const SPEC_COLUMNS: Columns<RequestSpec> = {
  instanceUuid: codec.uuid,
  projectId: codec.text(),
  userId: codec.text(),
  flavor: codec.json(flavorShape),
  imageRef: codec.text(),
  isBfv: codec.flag,
  availabilityZone: codec.textOrNull(),
  numInstances: codec.integer(1, MOST),
};

/** The embedded instance is checked field by field, as the row that it will become. */
const instanceShape: check.Check = (value, field) => {
  check.mapOf(check.anything)(value, field);
  const fields = new Map<string, unknown>(Object.entries(value as Instance));
  for (const [name, column] of Object.entries(INSTANCE_COLUMNS)) {
    column.encode(fields.get(name), `${field}.${name}`);
  }
};

const BUILD_COLUMNS: Columns<BuildRequest> = {
  instanceUuid: codec.uuid,
  projectId: codec.text(),
  instance: codec.json(instanceShape),
  createdAt: codec.time,
};

/** Tables `request_specs` and `build_requests` (spec 1.6). */
export class Requests implements RequestStore {
  readonly #context: StoreContext;
  readonly #specs: Table<RequestSpec>;
  readonly #builds: Table<BuildRequest>;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#specs = new Table(context.sql, "request_specs", SPEC_COLUMNS);
    this.#builds = new Table(context.sql, "build_requests", BUILD_COLUMNS);
  }

  createSpec(spec: RequestSpec): void {
    this.#specs.insert(spec);
  }

  spec(instanceUuid: string): RequestSpec | null {
    return this.#specs.one("instance_uuid = ?", instanceUuid);
  }

  saveSpec(spec: RequestSpec): void {
    const { sql } = this.#context;
    sql.transaction(() => {
      sql.run("DELETE FROM request_specs WHERE instance_uuid = ?", spec.instanceUuid);
      this.#specs.insert(spec);
    });
  }

  createBuildRequest(request: Omit<BuildRequest, "createdAt">): void {
    this.#builds.insert({ ...request, createdAt: this.#context.clock.now() });
  }

  buildRequest(instanceUuid: string): BuildRequest | null {
    return this.#builds.one("instance_uuid = ?", instanceUuid);
  }

  buildRequests(projectId?: string): BuildRequest[] {
    return this.#builds.many("?1 IS NULL OR project_id = ?1 ORDER BY id DESC", projectId ?? null);
  }

  destroyBuildRequest(instanceUuid: string): boolean {
    return this.#context.sql.run("DELETE FROM build_requests WHERE instance_uuid = ?", instanceUuid).changes > 0;
  }
}
