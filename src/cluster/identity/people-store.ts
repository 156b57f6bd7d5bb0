import type { Sql } from "../store/sql.js";
import type { People } from "./directory.js";

/** Projects and users of a cluster file, in tables of Identity's own. Read when Identity starts, changed while it does not run. */
export class PeopleStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  read(): People {
    const projects = this.#sql.all("SELECT name, description FROM identity_projects ORDER BY rowid");
    const users = this.#sql.all("SELECT name, roles FROM identity_users ORDER BY rowid");
    return {
      projects: projects.map(([name, description]) => ({ name: String(name), description: String(description) })),
      users: users.map(([name, roles]) => ({
        name: String(name),
        roles: JSON.parse(String(roles)) as Readonly<Record<string, readonly string[]>>,
      })),
    };
  }

  putProject({ name, description }: People["projects"][number]): void {
    this.#sql.run(
      "INSERT INTO identity_projects VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET description = excluded.description",
      name,
      description,
    );
  }

  removeProject(name: string): void {
    this.#sql.run("DELETE FROM identity_projects WHERE name = ?", name);
  }

  putUser({ name, roles }: People["users"][number]): void {
    this.#sql.run(
      "INSERT INTO identity_users VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET roles = excluded.roles",
      name,
      JSON.stringify(roles),
    );
  }

  /** With what lets it in. @param id of the user */
  removeUser(name: string, id: string): void {
    this.#sql.run("DELETE FROM identity_users WHERE name = ?", name);
    this.#sql.run("DELETE FROM identity_passwords WHERE user_id = ?", id);
    this.#sql.run("DELETE FROM identity_tokens WHERE user_id = ?", id);
  }
}
