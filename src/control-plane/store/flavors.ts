import { ConductorError, isConductorError } from "../../conductor-client/errors.js";
import { text } from "../../records/field.js";
import { FLAVOR, type Flavor, type NewFlavor, newFlavor } from "../../records/index.js";
import { checkOf } from "./record-fields.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

const FLAVORS = tableOf("flavors", FLAVOR);
const projectText = checkOf(text());

/** Table `flavors` (spec 1.6). Rows are deleted permanently, since instances contain copies. */
export function createFlavorTables({ sql, changes }: StoreContext) {
  const table = new Table(sql, FLAVORS);

  return {
    getByFlavorid,
    list: (): Flavor[] => table.many("1 ORDER BY id"),
    /** @throws FlavorExists, FlavorIdExists */
    create(flavor: NewFlavor): Flavor {
      const created = newFlavor(flavor);
      return sql.transaction(() => {
        try {
          changes.changed("flavor", table.insert(created));
        } catch (error) {
          throw isConductorError(error, "DuplicateRecord") ? duplicate(created, error) : error;
        }
        return existing(flavor.flavorid);
      });
    },
    setExtraSpecs: (flavorid: string, extraSpecs: Readonly<Record<string, string>>): Flavor =>
      change(flavorid, { extraSpecs }),
    update: (flavorid: string, { description }: Pick<Flavor, "description">): Flavor =>
      change(flavorid, { description }),
    destroy: (flavorid: string): void =>
      sql.transaction(() => {
        const { id } = existing(flavorid);
        sql.execute("DELETE FROM flavors WHERE id = ?", id);
        changes.changed("flavor", id);
      }),
    projects,
    /** @throws FlavorNotFound, FlavorAccessExists */
    addProject(flavorid: string, projectId: string): void {
      projectText(projectId, "projectId");
      sql.transaction(() => {
        const { id } = existing(flavorid);
        if (projects(flavorid).includes(projectId)) {
          throw new ConductorError(
            "FlavorAccessExists",
            `Flavor access already exists for flavor ${flavorid} and project ${projectId} combination.`,
            { flavorid, projectId },
          );
        }
        sql.execute("INSERT INTO flavor_projects (flavor_id, project_id) VALUES (?, ?)", id, projectId);
        changes.changed("flavor", id);
      });
    },
    /** @throws FlavorNotFound, FlavorAccessNotFound */
    removeProject: (flavorid: string, projectId: string): void =>
      sql.transaction(() => {
        const { id } = existing(flavorid);
        const removed = sql.run("DELETE FROM flavor_projects WHERE flavor_id = ? AND project_id = ?", id, projectId);
        if (removed.changes === 0) {
          throw new ConductorError(
            "FlavorAccessNotFound",
            `Flavor access not found for ${flavorid} / ${projectId} combination.`,
            { flavorid, projectId },
          );
        }
        changes.changed("flavor", id);
      }),
  };

  function getByFlavorid(flavorid: string): Flavor | null {
    return table.one("flavorid = ?", flavorid);
  }

  /** Returns the ids of the projects with access to a flavor that is not public. */
  function projects(flavorid: string): string[] {
    return sql.strings(
      "SELECT project_id FROM flavor_projects JOIN flavors ON id = flavor_id WHERE flavorid = ? ORDER BY project_id",
      flavorid,
    );
  }

  function change(flavorid: string, values: Partial<Flavor>): Flavor {
    return sql.transaction(() => {
      const { id } = existing(flavorid);
      table.update(id, values);
      changes.changed("flavor", id);
      return existing(flavorid);
    });
  }

  function existing(flavorid: string): Flavor {
    const flavor = getByFlavorid(flavorid);
    if (!flavor) {
      throw new ConductorError("FlavorNotFound", `flavor ${flavorid} could not be found`, { flavorid });
    }
    return flavor;
  }
}

function duplicate(flavor: Omit<Flavor, "id">, error: ConductorError): ConductorError {
  return String(error.data.index).includes("flavorid")
    ? new ConductorError("FlavorIdExists", `Flavor with ID ${flavor.flavorid} already exists.`, {
        flavorid: flavor.flavorid,
      })
    : new ConductorError("FlavorExists", `Flavor with name ${flavor.name} already exists.`, { name: flavor.name });
}
