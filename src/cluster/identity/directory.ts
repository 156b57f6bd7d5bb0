import type { Digests } from "../../runtime/digests.js";

/**
 * The users, projects and roles that the embedded Identity knows: its own, and those of a cluster file. Ids are derived from names, so
 * that they survive everything.
 */
export type Directory = ReturnType<typeof createDirectory>;

export interface NamedEntity {
  /** 32 hex digits. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
}

/** Users that a person logs in as; the others get their tokens from the control plane itself. */
/** Users that a person logs in as, in every cluster. @internal for tests */
export type LoginUser = "admin" | "demo";
export type ServiceUser = "nova" | "placement";

const PROJECTS = { admin: "Bootstrap project for initializing the cloud.", demo: "", service: "" };
const ROLES = ["reader", "member", "admin", "service"] as const;
type Role = (typeof ROLES)[number];

/** User → project → roles; `system` stands for the whole deployment. */
const ASSIGNMENTS: Readonly<Record<LoginUser | ServiceUser, Readonly<Record<string, readonly Role[]>>>> = {
  admin: { admin: ["reader", "member", "admin"], system: ["reader", "member", "admin"] },
  demo: { demo: ["reader", "member"] },
  nova: { service: ["admin", "service"] },
  placement: { service: ["admin", "service"] },
};

/** Projects and users besides those that every cluster has. */
export interface People {
  readonly projects: readonly { readonly name: string; readonly description: string }[];
  /** Roles by project. */
  readonly users: readonly { readonly name: string; readonly roles: Readonly<Record<string, readonly string[]>> }[];
}

export function createDirectory(digests: Pick<Digests, "sha256">, people: People = { projects: [], users: [] }) {
  const entity = (kind: string, name: string, description = ""): NamedEntity =>
    Object.freeze({ id: stableId(digests, `${kind}/${name}`), name, description });
  const assignments = new Map<string, Readonly<Record<string, readonly string[]>>>([
    ...Object.entries(ASSIGNMENTS),
    ...people.users.map(({ name, roles }) => [name, roles] as const),
  ]);
  const users = [...assignments.keys()].map((name) => entity("user", name));
  const projects = [
    ...Object.entries(PROJECTS).map(([name, description]) => entity("project", name, description)),
    ...people.projects.map(({ name, description }) => entity("project", name, description)),
  ];
  const roles = ROLES.map((name) => entity("role", name));
  const assigned = (userId: string, target: string | undefined): NamedEntity[] => {
    const user = users.find(({ id }) => id === userId)?.name ?? "";
    const targets = assignments.get(user) ?? {};
    const names = target !== undefined && Object.hasOwn(targets, target) ? (targets[target] ?? []) : [];
    return roles.filter(({ name }) => names.includes(name));
  };
  /** A project of a file may be called `system`. */
  const isOwn = (userId: string): boolean =>
    Object.hasOwn(ASSIGNMENTS, users.find(({ id }) => id === userId)?.name ?? "");
  return {
    domain: { id: "default", name: "Default" } as const,
    users,
    projects,
    roles,
    rolesInProject: (userId: string, projectId: string): readonly NamedEntity[] =>
      assigned(userId, projects.find(({ id }) => id === projectId)?.name),
    rolesInSystem: (userId: string): readonly NamedEntity[] => (isOwn(userId) ? assigned(userId, "system") : []),
  };
}

/** An id that depends on nothing but what it names. */
export const stableId = (digests: Pick<Digests, "sha256">, name: string): string => digests.sha256(name).slice(0, 32);
