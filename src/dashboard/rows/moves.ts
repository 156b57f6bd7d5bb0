import type { Store } from "../../control-plane/store/store.js";
import { FINAL_MIGRATION_STATUSES, MIGRATION_STATUSES, type Migration } from "../../records/index.js";
import type { MigrationRow } from "../wire/server-rows.js";
import type { Flavors } from "./flavors.js";
import { migrationRow } from "./server-row.js";

const UNDER_WAY = MIGRATION_STATUSES.filter((status) => !FINAL_MIGRATION_STATUSES.includes(status));

/** The moves that the page shows: those under way, and evacuations whose source has not cleaned up yet. */
export class Moves {
  readonly #store: Pick<Store, "migrations">;
  readonly #flavors: Flavors;

  constructor(store: Pick<Store, "migrations">, flavors: Flavors) {
    this.#store = store;
    this.#flavors = flavors;
  }

  /** Undefined: it has ended. */
  read(uuid: string): MigrationRow | undefined {
    const migration = this.#store.migrations.getByUuid(uuid);
    return migration !== null && isVisible(migration) ? this.#row(migration) : undefined;
  }

  all(): readonly MigrationRow[] {
    const { migrations } = this.#store;
    return [
      ...migrations.byFilters({ statuses: UNDER_WAY }),
      ...migrations.byFilters({ migrationTypes: ["evacuation"], statuses: ["done"] }),
    ].map((migration) => this.#row(migration));
  }

  #row(migration: Migration): MigrationRow {
    return migrationRow(migration, (id) => this.#flavors.nameOf(id));
  }
}

function isVisible({ status, migrationType, deleted }: Migration): boolean {
  return (
    deleted === 0 &&
    (!FINAL_MIGRATION_STATUSES.includes(status) || (migrationType === "evacuation" && status === "done"))
  );
}
