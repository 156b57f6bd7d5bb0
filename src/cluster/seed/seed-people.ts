import type { PeopleStore } from "../identity/store/people-store.js";
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
  const before = new Map(people.read().projects.map((project) => [project.name, project]));
  const names = new Set(wanted.map(({ name }) => name));
  return [
    ...[...before.keys()]
      .filter((name) => !names.has(name))
      .map((name): SeedStep => {
        return { sign: "-", text: `project ${name}`, destroys: true, apply: () => people.removeProject(name) };
      }),
    ...wanted.flatMap(({ name, description = "" }): SeedStep[] => {
      const found = before.get(name);
      const apply = () => people.putProject({ name, description });
      if (found === undefined) {
        return [{ sign: "+", text: `project ${name}`, destroys: false, apply }];
      }
      const what = fieldChanges({ description: found.description }, { description });
      return what.length === 0 ? [] : [{ sign: "~", text: `project ${name}: ${what.join()}`, destroys: false, apply }];
    }),
  ];
}

export function userSteps({ people }: PeopleParts, wanted: readonly UserText[]): readonly SeedStep[] {
  const before = new Map(people.read().users.map((user) => [user.name, user]));
  const names = new Set(wanted.map(({ name }) => name));
  return [
    ...[...before.keys()]
      .filter((name) => !names.has(name))
      .map((name): SeedStep => {
        const apply = () => people.removeUser(name);
        return { sign: "-", text: `user ${name}`, destroys: true, apply };
      }),
    ...wanted.flatMap(({ name, roles }): SeedStep[] => {
      const found = before.get(name);
      const apply = () => people.putUser({ name, roles });
      if (found === undefined) {
        return [{ sign: "+", text: `user ${name}`, destroys: false, apply }];
      }
      const what = fieldChanges({ ...found.roles }, { ...roles });
      return what.length === 0
        ? []
        : [{ sign: "~", text: `user ${name}: roles in ${what.join(", ")}`, destroys: false, apply }];
    }),
  ];
}
