import { ConductorError, isConductorError } from "../../conductor-client/errors.js";
import { text } from "../../records/field.js";
import { FLAVOR, type Flavor, type NewFlavor, newFlavor } from "../../records/index.js";
import { checkOf } from "./record-fields.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

const FLAVORS = tableOf("flavors", FLAVOR);
const projectText = checkOf(text());

/** Table `flavors` (spec 1.6). Rows are deleted permanently, since instances contain copies. */
export class Flavors {
  readonly #context: StoreContext;
  readonly #table: Table<Flavor>;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#table = new Table(context.sql, FLAVORS);
  }

  getByFlavorid(flavorid: string): Flavor | null {
    return this.#table.one("flavorid = ?", flavorid);
  }

  list(): Flavor[] {
    return this.#table.many("1 ORDER BY id");
  }

  /** @throws FlavorExists, FlavorIdExists */
  create(flavor: NewFlavor): Flavor {
    const created = newFlavor(flavor);
    return this.#context.sql.transaction(() => {
      try {
        this.#context.changes.changed("flavor", this.#table.insert(created));
      } catch (error) {
        throw isConductorError(error, "DuplicateRecord") ? duplicate(created, error) : error;
      }
      return this.#existing(flavor.flavorid);
    });
  }

  setExtraSpecs(flavorid: string, extraSpecs: Readonly<Record<string, string>>): Flavor {
    return this.#change(flavorid, { extraSpecs });
  }

  update(flavorid: string, changes: Pick<Flavor, "description">): Flavor {
    return this.#change(flavorid, { description: changes.description });
  }

  destroy(flavorid: string): void {
    this.#context.sql.transaction(() => {
      const { id } = this.#existing(flavorid);
      this.#context.sql.execute("DELETE FROM flavors WHERE id = ?", id);
      this.#context.changes.changed("flavor", id);
    });
  }

  /** Returns the ids of the projects with access to a flavor that is not public. */
  projects(flavorid: string): string[] {
    const rows = this.#context.sql.all(
      "SELECT project_id FROM flavor_projects JOIN flavors ON id = flavor_id WHERE flavorid = ? ORDER BY project_id",
      flavorid,
    );
    return rows.map(([project]) => String(project));
  }

  /** @throws FlavorNotFound, FlavorAccessExists */
  addProject(flavorid: string, projectId: string): void {
    projectText(projectId, "projectId");
    this.#context.sql.transaction(() => {
      const { id } = this.#existing(flavorid);
      if (this.projects(flavorid).includes(projectId)) {
        throw new ConductorError(
          "FlavorAccessExists",
          `Flavor access already exists for flavor ${flavorid} and project ${projectId} combination.`,
          { flavorid, projectId },
        );
      }
      this.#context.sql.execute("INSERT INTO flavor_projects (flavor_id, project_id) VALUES (?, ?)", id, projectId);
      this.#context.changes.changed("flavor", id);
    });
  }

  /** @throws FlavorNotFound, FlavorAccessNotFound */
  removeProject(flavorid: string, projectId: string): void {
    this.#context.sql.transaction(() => {
      const { id } = this.#existing(flavorid);
      const { changes } = this.#context.sql.run(
        "DELETE FROM flavor_projects WHERE flavor_id = ? AND project_id = ?",
        id,
        projectId,
      );
      if (changes === 0) {
        throw new ConductorError(
          "FlavorAccessNotFound",
          `Flavor access not found for ${flavorid} / ${projectId} combination.`,
          {
            flavorid,
            projectId,
          },
        );
      }
      this.#context.changes.changed("flavor", id);
    });
  }

  #change(flavorid: string, values: Partial<Flavor>): Flavor {
    return this.#context.sql.transaction(() => {
      const { id } = this.#existing(flavorid);
      this.#table.update(id, values);
      this.#context.changes.changed("flavor", id);
      return this.#existing(flavorid);
    });
  }

  #existing(flavorid: string): Flavor {
    const flavor = this.getByFlavorid(flavorid);
    if (!flavor) {
      throw new ConductorError("FlavorNotFound", `flavor ${flavorid} could not be found`, { flavorid });
    }
    return flavor;
  }
}

function duplicate(flavor: Omit<Flavor, "id">, error: ConductorError): ConductorError | ConductorError {
  return String(error.data.index).includes("flavorid")
    ? new ConductorError("FlavorIdExists", `Flavor with ID ${flavor.flavorid} already exists.`, {
        flavorid: flavor.flavorid,
      })
    : new ConductorError("FlavorExists", `Flavor with name ${flavor.name} already exists.`, { name: flavor.name });
}
