import { isSameName } from "../identity/name-key.js";
import type { PeopleStore } from "../identity/store/user-store.js";
import { fieldChanges, type SeedStep } from "./change.js";
import type { ProjectText, UserText } from "./seed-schema.js";

export interface PeopleParts {
  readonly people: PeopleStore;
}

export function projectTexts({ people }: PeopleParts): ProjectText[] {
  return people
    .read()
    .projects.map(({ name, description }) => ({ name, ...(description === "" ? {} : { description }) }));
}

export function userTexts({ people }: PeopleParts): UserText[] {
  return people.read().users.map(({ name, roles }) => ({ name, roles: roles as UserText["roles"] }));
}

/** What a project leaves behind stays with its id, and is its own again if the project comes back. */
export function projectSteps({ people }: PeopleParts, wanted: readonly ProjectText[]): readonly SeedStep[] {
  const { unmatched, found } = matchNames(people.read().projects, wanted);
  return [
    ...unmatched.map(({ name }): SeedStep => {
      return { sign: "-", text: `project ${name}`, destroys: true, apply: () => people.removeProject(name) };
    }),
    ...wanted.flatMap(({ name, description = "" }): SeedStep[] => {
      const before = found.get(name);
      const apply = () => people.putProject({ name, description });
      if (before === undefined) {
        return [{ sign: "+", text: `project ${name}`, destroys: false, apply }];
      }
      const what = fieldChanges({ name: before.name, description: before.description }, { name, description });
      return what.length === 0 ? [] : [{ sign: "~", text: `project ${name}: ${what.join()}`, destroys: false, apply }];
    }),
  ];
}

export function userSteps({ people }: PeopleParts, wanted: readonly UserText[]): readonly SeedStep[] {
  const { unmatched, found } = matchNames(people.read().users, wanted);
  return [
    ...unmatched.map(({ name }): SeedStep => {
      return { sign: "-", text: `user ${name}`, destroys: true, apply: () => people.removeUser(name) };
    }),
    ...wanted.flatMap(({ name, roles }): SeedStep[] => {
      const before = found.get(name);
      const apply = () => people.putUser({ name, roles });
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

/** Matches the names of a file with those of records, which Identity compares without their case. */
function matchNames<T extends { readonly name: string }>(
  records: readonly T[],
  wanted: readonly { readonly name: string }[],
): { readonly unmatched: readonly T[]; readonly found: ReadonlyMap<string, T> } {
  const found = new Map<string, T>();
  for (const { name } of wanted) {
    // An old state directory may have names that differ by their case alone.
    const record = records.find((one) => one.name === name) ?? records.find((one) => isSameName(one.name, name));
    if (record) {
      found.set(name, record);
    }
  }
  const matched = new Set(found.values());
  return { unmatched: records.filter((record) => !matched.has(record)), found };
}
