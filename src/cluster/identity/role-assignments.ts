import type { Json } from "../http/json.js";
import type { Directory, NamedEntity } from "./directory.js";
import { type IdentityCall, type IdentityRoute, listOf, requireRole } from "./identity-call.js";

/** GET /v3/role_assignments: the roles of each user in each project. */
export const ROLE_ASSIGNMENT_ROUTES: readonly IdentityRoute[] = [
  {
    method: "GET",
    path: "/v3/role_assignments",
    answer: (call) => {
      requireRole(call, ["admin"], "identity:list_role_assignments");
      const { directory } = call.services;
      const found = assignments(directory).filter((assignment) => matches(call, assignment));
      return { body: listOf(call, "role_assignments", found.map(viewOf(call))) };
    },
  },
];

interface Assignment {
  readonly user: NamedEntity;
  readonly role: NamedEntity;
  /** Null: in the whole deployment. */
  readonly project: NamedEntity | null;
}

function assignments(directory: Directory): readonly Assignment[] {
  return directory.users.flatMap((user) => [
    ...directory.projects.flatMap((project) =>
      directory.rolesInProject(user.id, project.id).map((role) => ({ user, role, project })),
    ),
    ...directory.rolesInSystem(user.id).map((role) => ({ user, role, project: null })),
  ]);
}

function matches({ query }: IdentityCall, { user, role, project }: Assignment): boolean {
  const asked = (name: string, value: string | undefined): boolean => (query.get(name) ?? value) === value;
  return (
    asked("user.id", user.id) &&
    asked("role.id", role.id) &&
    asked("scope.project.id", project?.id) &&
    (query.get("scope.system") === undefined || project === null)
  );
}

function viewOf({ services, query, request }: IdentityCall) {
  return ({ user, role, project }: Assignment): Json => {
    const names = query.get("include_names") !== undefined;
    const domain = { id: services.directory.domain.id, name: services.directory.domain.name };
    const shown = ({ id, name }: NamedEntity): Json => (names ? { id, name, domain } : { id });
    const [scope, path] =
      project === null
        ? [{ system: { all: true } }, "system"]
        : [{ project: shown(project) }, `projects/${project.id}`];
    return {
      user: shown(user),
      role: names ? { id: role.id, name: role.name } : { id: role.id },
      scope,
      links: { assignment: `${request.baseUrl}/v3/${path}/users/${user.id}/roles/${role.id}` },
    };
  };
}
