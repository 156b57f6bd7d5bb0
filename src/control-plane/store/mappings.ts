import { InstanceNotFound } from "../../conductor-client/errors.js";
import { nullable, oneOf, text, uuid } from "../../records/field.js";
import { checkOf } from "./check.js";
import type { StoreContext } from "./store-context.js";

type Cell = "cell0" | "cell1" | null;

const anyUuid = checkOf(uuid);
const anyText = checkOf(text());
const anyCell = checkOf(nullable(oneOf(["cell0", "cell1"])));

/**
 * Tables `instance_mappings` and `host_mappings`: which cell an instance or host is in; `cell` null until mapped. A host is
 * mapped when it gets a compute node.
 */
export class Mappings {
  readonly #sql: StoreContext["sql"];

  constructor(context: StoreContext) {
    this.#sql = context.sql;
  }

  mapInstance(instanceUuid: string, projectId: string, cell: Cell): void {
    anyUuid(instanceUuid, "instanceUuid");
    anyText(projectId, "projectId");
    anyCell(cell, "cell");
    this.#sql.run(
      `INSERT INTO instance_mappings (instance_uuid, project_id, cell) VALUES (?, ?, ?)
       ON CONFLICT (instance_uuid) DO UPDATE SET project_id = excluded.project_id, cell = excluded.cell`,
      instanceUuid,
      projectId,
      cell,
    );
  }

  instance(instanceUuid: string): { readonly cell: Cell; readonly queuedForDelete: boolean } | null {
    const row = this.#sql.get(
      "SELECT cell, queued_for_delete FROM instance_mappings WHERE instance_uuid = ?",
      instanceUuid,
    );
    return row ? { cell: (row[0] ?? null) as Cell, queuedForDelete: row[1] === 1 } : null;
  }

  queueForDelete(instanceUuid: string): void {
    const { changes } = this.#sql.run(
      "UPDATE instance_mappings SET queued_for_delete = 1 WHERE instance_uuid = ?",
      instanceUuid,
    );
    if (changes === 0) {
      throw new InstanceNotFound(`instance ${instanceUuid} is in no cell`, { uuid: instanceUuid });
    }
  }

  host(host: string): boolean {
    return this.#sql.get("SELECT 1 FROM host_mappings WHERE host = ?", host) !== undefined;
  }

  unmapHost(host: string): void {
    this.#sql.run("DELETE FROM host_mappings WHERE host = ?", host);
  }
}
