import type { Digests } from "../../../runtime/cryptography.js";
import { type IdentityStore, removeProject, removeUser } from "./identity-store.js";
import { DEFAULT_DOMAIN, newProject, type Project, stableId, type User } from "./records.js";

/** Projects and users of a cluster file. Built-in ones and those created by API calls are not included. */
export interface SeededIdentities {
  readonly projects: readonly { readonly name: string; readonly description: string }[];
  /** Roles by project. */
  readonly users: readonly { readonly name: string; readonly roles: Readonly<Record<string, readonly string[]>> }[];
}

/** Reads and writes the records of a cluster file. They are ordinary records of the default domain. */
export class SeededIdentityStore {
  readonly #store: IdentityStore;
  readonly #digests: Pick<Digests, "sha256">;

  constructor(store: IdentityStore, digests: Pick<Digests, "sha256">) {
    this.#store = store;
    this.#digests = digests;
  }

  read(): SeededIdentities {
    const ours = new Set(this.#store.sql.all("SELECT id FROM identity_from_file").map(([id]) => String(id)));
    const projects = this.#store.projects.list().filter(({ id }) => ours.has(id));
    const users = this.#store.users.list().filter(({ id }) => ours.has(id));
    return {
      projects: projects.map(({ name, description }) => ({ name, description: description ?? "" })),
      users: users.map(({ id, name }) => ({ name, roles: this.#rolesOf(id) })),
    };
  }

  /** Returns the ids of all projects of the default domain by name. */
  projectIds(): ReadonlyMap<string, string> {
    const inDomain = this.#store.projects.findBy({ domain_id: DEFAULT_DOMAIN });
    return new Map(inDomain.map(({ id, name }) => [name, id]));
  }

  putProject({ name, description }: SeededIdentities["projects"][number]): void {
    const found = this.#project(name);
    if (found) {
      this.#store.projects.update({ ...found, name, description });
    } else {
      const id = this.#freeId(`project/${name}`, (taken) => this.#store.projects.get(taken) !== undefined);
      this.#store.projects.insert(newProject(id, name, { description }));
    }
    this.#markAsSeeded(this.#project(name));
  }

  removeProject(name: string): void {
    const found = this.#project(name);
    if (found) {
      removeProject(this.#store, found.id);
    }
  }

  /** Stores a user with exactly these roles in projects. */
  putUser({ name, roles }: SeededIdentities["users"][number]): void {
    const found = this.#user(name);
    if (found) {
      this.#store.users.update({ ...found, name });
    }
    const id = found?.id ?? this.#newUser(name);
    for (const grant of this.#store.grants.of("user", id)) {
      if (grant.target === "project" && !grant.inherited) {
        this.#store.grants.remove(grant);
      }
    }
    for (const [project, names] of Object.entries(roles)) {
      for (const roleName of names) {
        const role = this.#store.roles.named(roleName, null);
        const target = this.#project(project);
        if (role && target) {
          const at = { target: "project", targetId: target.id } as const;
          this.#store.grants.add({ actor: "user", actorId: id, ...at, roleId: role.id, inherited: false });
        }
      }
    }
    this.#markAsSeeded(this.#user(name));
  }

  /** Removes a user with their grants and credentials. */
  removeUser(name: string): void {
    const found = this.#user(name);
    if (found) {
      removeUser(this.#store, found.id);
    }
  }

  #newUser(name: string): string {
    const id = this.#freeId(`user/${name}`, (taken) => this.#store.users.get(taken) !== undefined);
    this.#store.users.insert({ id, name, domain_id: DEFAULT_DOMAIN, enabled: true, options: {} });
    return id;
  }

  #rolesOf(userId: string): Readonly<Record<string, readonly string[]>> {
    const found: Record<string, string[]> = {};
    for (const { target, targetId, roleId, inherited } of this.#store.grants.of("user", userId)) {
      const project = target === "project" && !inherited ? this.#store.projects.get(targetId) : undefined;
      const role = this.#store.roles.get(roleId);
      if (project && role) {
        found[project.name] = [...(found[project.name] ?? []), role.name];
      }
    }
    return found;
  }

  #project(name: string): Project | undefined {
    return this.#store.projects.named(name, DEFAULT_DOMAIN);
  }

  #user(name: string): User | undefined {
    return this.#store.users.named(name, DEFAULT_DOMAIN);
  }

  /** Derives an id from the name: a record that is removed and added again has the same id, so it owns its resources again. */
  #freeId(name: string, taken: (id: string) => boolean): string {
    for (let attempt = 1; ; attempt += 1) {
      const id = stableId(this.#digests, attempt === 1 ? name : `${name}/${attempt}`);
      if (!taken(id)) {
        return id;
      }
    }
  }

  #markAsSeeded(record: Project | User | undefined): void {
    if (record) {
      this.#store.sql.run("INSERT OR IGNORE INTO identity_from_file VALUES (?)", record.id);
    }
  }
}
