import type { Json } from "../http/json.js";
import { collections, filterMembers } from "./collections.js";
import { caller, catalogOf, type IdentityCall, type IdentityRoute, listOf, requireRole } from "./identity-call.js";
import { IdentityError } from "./identity-error.js";

function collectionRoutes(plural: string, singular: string): readonly IdentityRoute[] {
  const members = (call: IdentityCall) =>
    collections(call.services.directory, catalogOf(call), `${call.request.baseUrl}/v3`).find(
      (collection) => collection.plural === plural,
    )?.members ?? [];
  return [
    {
      method: "GET",
      path: `/v3/${plural}`,
      answer: (call) => {
        requireRole(call, ["admin"], `identity:list_${plural}`);
        return { body: listOf(call, plural, filterMembers(members(call), call.query)) };
      },
    },
    {
      method: "GET",
      path: `/v3/${plural}/:id`,
      answer: (call) => {
        const { id = "" } = call.params;
        const own = caller(call);
        if (id !== own.userId && id !== own.projectId) {
          requireRole(call, ["admin"], `identity:get_${singular}`);
        }
        const found = members(call).find((member) => member.id === id);
        if (!found) {
          throw new IdentityError(404, `Could not find ${singular}: ${id}.`);
        }
        return { body: { [singular]: found } };
      },
    },
  ];
}

/** What the holder of a token has, and what administrators may list. */
export const LIST_ROUTES: readonly IdentityRoute[] = [
  {
    method: "GET",
    path: "/v3/auth/catalog",
    answer: (call) => {
      caller(call);
      return { body: listOf(call, "catalog", catalogOf(call) as unknown as Json) };
    },
  },
  {
    method: "GET",
    path: "/v3/auth/projects",
    answer: (call) => {
      const { directory } = call.services;
      const { userId } = caller(call);
      const mine = directory.projects.filter(({ id }) => directory.rolesInProject(userId, id).length > 0);
      const all = collections(directory, [], `${call.request.baseUrl}/v3`).find(({ plural }) => plural === "projects");
      const members = all?.members.filter(({ id }) => mine.some((project) => project.id === id)) ?? [];
      return { body: listOf(call, "projects", members) };
    },
  },
  {
    method: "GET",
    path: "/v3/auth/system",
    answer: (call) => {
      const all = call.services.directory.rolesInSystem(caller(call).userId).length > 0;
      return { body: listOf(call, "system", all ? [{ all: true }] : []) };
    },
  },
  ...[
    ["users", "user"],
    ["projects", "project"],
    ["domains", "domain"],
    ["roles", "role"],
    ["services", "service"],
    ["endpoints", "endpoint"],
    ["regions", "region"],
  ].flatMap(([plural = "", singular = ""]) => collectionRoutes(plural, singular)),
];
