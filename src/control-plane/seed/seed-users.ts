import type { Digests } from "../../runtime/cryptography.js";
import { isSameName } from "../identity/store/record-tables.js";
import { stableId } from "../identity/store/records.js";
import type { SeededIdentityStore } from "../identity/store/seeded-identities.js";
import { fieldChanges, type SeedStep } from "./change.js";
import type { ProjectText, UserText } from "./seed-schema.js";

export function exportProjects(identities: SeededIdentityStore): ProjectText[] {
  const { projects } = identities.read();
  return projects.map(({ name, description }) => ({ name, ...(description === "" ? {} : { description }) }));
}

export function exportUsers(identities: SeededIdentityStore): UserText[] {
  return identities.read().users.map(({ name, roles }) => ({ name, roles: roles as UserText["roles"] }));
}

/**
 * Returns the changes of projects. The resources of a removed project remain under its id, and belong to it again if it
 * is recreated.
 */
export function projectSteps(identities: SeededIdentityStore, desired: readonly ProjectText[]): readonly SeedStep[] {
  const { unmatched, found } = matchNames(identities.read().projects, desired);
  return [
    ...unmatched.map(({ name }): SeedStep => {
      return { sign: "-", text: `project ${name}`, destroys: true, apply: () => identities.removeProject(name) };
    }),
    ...desired.flatMap(({ name, description = "" }): SeedStep[] => {
      const before = found.get(name);
      const apply = () => identities.putProject({ name, description });
      if (before === undefined) {
        return [{ sign: "+", text: `project ${name}`, destroys: false, apply }];
      }
      const what = fieldChanges({ name: before.name, description: before.description }, { name, description });
      return what.length === 0 ? [] : [{ sign: "~", text: `project ${name}: ${what.join()}`, destroys: false, apply }];
    }),
  ];
}

export function userSteps(identities: SeededIdentityStore, desired: readonly UserText[]): readonly SeedStep[] {
  const { unmatched, found } = matchNames(identities.read().users, desired);
  return [
    ...unmatched.map(({ name }): SeedStep => {
      return { sign: "-", text: `user ${name}`, destroys: true, apply: () => identities.removeUser(name) };
    }),
    ...desired.flatMap(({ name, roles }): SeedStep[] => {
      const before = found.get(name);
      const apply = () => identities.putUser({ name, roles });
      if (before === undefined) {
        return [{ sign: "+", text: `user ${name}`, destroys: false, apply }];
      }
      const roleChanges = fieldChanges({ ...before.roles }, { ...roles });
      const what = [
        ...fieldChanges({ name: before.name }, { name }),
        ...(roleChanges.length === 0 ? [] : [`roles in ${roleChanges.join(", ")}`]),
      ];
      return what.length === 0 ? [] : [{ sign: "~", text: `user ${name}: ${what.join(", ")}`, destroys: false, apply }];
    }),
  ];
}

/** Matches names in a file with records. Identity compares names case-insensitively. */
function matchNames<T extends { readonly name: string }>(
  records: readonly T[],
  desired: readonly { readonly name: string }[],
): { readonly unmatched: readonly T[]; readonly found: ReadonlyMap<string, T> } {
  const found = new Map<string, T>();
  for (const { name } of desired) {
    // An old state directory may contain names that differ only by case.
    const record = records.find((one) => one.name === name) ?? records.find((one) => isSameName(one.name, name));
    if (record) {
      found.set(name, record);
    }
  }
  const matched = new Set(found.values());
  return { unmatched: records.filter((record) => !matched.has(record)), found };
}

/** Converts between the names of projects, used in files, and their ids, used in records. */
export class ProjectNames {
  readonly #digests: Pick<Digests, "sha256">;
  readonly #ids: ReadonlyMap<string, string>;
  readonly #names: ReadonlyMap<string, string>;

  /**
   * @param ids ids of existing projects, by name
   * @param names names of desired projects
   */
  constructor(digests: Pick<Digests, "sha256">, ids: ReadonlyMap<string, string>, names: Iterable<string> = []) {
    this.#digests = digests;
    this.#ids = ids;
    this.#names = new Map([...ids.keys(), ...names].map((name) => [this.idOf(name), name]));
  }

  idOf(name: string): string {
    return this.#ids.get(name) ?? stableId(this.#digests, `project/${name}`);
  }

  /** Returns the name of a project, or the id if it does not exist. */
  nameOf(id: string): string {
    return this.#names.get(id) ?? id;
  }
}
