import { Type } from "typebox";
import type { Json } from "../../http/json.js";
import { checkBody } from "../api/check-body.js";
import type { IdentityCall, IdentityRoute } from "../api/identity-call.js";
import { conflict, expecting, IdentityError } from "../api/identity-error.js";
import { listBody } from "../api/listing.js";
import { targetOf } from "../api/resource-routes.js";
import { ID, orNull, TEXT } from "../api/schema-parts.js";
import type { Limit } from "../store/records.js";
import { bodies, collectionBody, limitNotFound, registeredLimit, requirePlace } from "./limit-rules.js";
import { AMOUNT, RESOURCE } from "./registered-limits.js";

const MEMBERS = {
  service_id: ID,
  region_id: Type.Optional(TEXT),
  resource_name: RESOURCE,
  resource_limit: AMOUNT,
  description: Type.Optional(orNull(TEXT)),
};
/** A limit belongs to a project or to a domain, not to both. */
const CREATE = Type.Array(
  Type.Object(
    { ...MEMBERS, project_id: Type.Optional(ID), domain_id: Type.Optional(ID) },
    { additionalProperties: false },
  ),
  { minItems: 1 },
);
const UPDATE = Type.Partial(Type.Object({ resource_limit: AMOUNT, description: orNull(TEXT), id: ID }), {
  additionalProperties: false,
});

const PATH = "/v3/limits/:id";
const FILTERS = ["service_id", "region_id", "resource_name", "project_id", "domain_id"];

/** Limits of projects and domains. All of a request are made, or none. */
export const LIMIT_ROUTES: readonly IdentityRoute[] = [
  {
    method: "GET",
    path: "/v3/limits/model",
    handle: (call) => {
      call.enforce("identity:get_limit_model");
      const description = "Limit enforcement and validation does not take project hierarchy into consideration.";
      return { body: { model: { name: "flat", description } } };
    },
  },
  {
    method: "GET",
    path: "/v3/limits",
    handle: (call) => {
      call.enforce("identity:list_limits");
      const limits = listed(call).map((limit) => withLink(call, limit));
      return { body: listBody(call, "limits", limits, FILTERS) };
    },
  },
  {
    method: "POST",
    path: "/v3/limits",
    handle: (call) => {
      call.enforce("identity:create_limits");
      const requestedLimits = checkBody(CREATE, bodies(call, "limits"));
      const made = call.store.sql.transaction(() => requestedLimits.map((each) => view(call, create(call, each))));
      return { status: 201, body: collectionBody(call, "limits", made) };
    },
  },
  {
    method: "GET",
    path: PATH,
    handle: (call) => ({ body: { limit: withLink(call, found(call, "get")) as Json } }),
  },
  {
    method: "PATCH",
    path: PATH,
    handle: (call) => {
      const limit = found(call, "update");
      const { id, ...changes } = checkBody(UPDATE, call.body("limit"));
      if (id !== undefined && id !== limit.id) {
        throw new IdentityError(400, "Cannot change ID");
      }
      return { body: { limit: withLink(call, call.store.limits.update({ ...limit, ...changes })) as Json } };
    },
  },
  {
    method: "DELETE",
    path: PATH,
    handle: (call) => {
      call.store.limits.delete(found(call, "delete").id);
      return { status: 204 };
    },
  },
];

function create(call: IdentityCall, attributes: Type.Static<typeof CREATE>[number]): Limit {
  const { store } = call;
  const { service_id, region_id = null, resource_name, resource_limit, description = null } = attributes;
  const key = { service_id, region_id, resource_name };
  requirePlace(call, "limit", key);
  const owner = ownerOf(call, attributes);
  const registered = registeredLimit(store, key);
  if (!registered) {
    throw new IdentityError(403, "Unable to create a limit that has no corresponding registered limit.");
  }
  const limit = { id: call.newId(), registered_limit_id: registered.id, ...owner, resource_limit, description };
  const isTaken = store.limits
    .list()
    .some(
      (other) =>
        other.registered_limit_id === registered.id &&
        other.project_id === limit.project_id &&
        other.domain_id === limit.domain_id,
    );
  if (isTaken) {
    throw conflict("limit", "Duplicate entry");
  }
  return store.limits.insert(limit);
}

/** A project that is a domain counts as that. @throws {IdentityError} 400 */
function ownerOf(
  { store }: IdentityCall,
  attributes: Type.Static<typeof CREATE>[number],
): Pick<Limit, "project_id" | "domain_id"> {
  const { project_id: project, domain_id: domain } = { project_id: null, domain_id: null, ...attributes };
  if ((project === null) === (domain === null)) {
    throw new IdentityError(400, "A limit is of a project or of a domain: give project_id or domain_id.");
  }
  if (domain !== null && !store.domain(domain)) {
    throw expecting("domain_id", "limit");
  }
  const found = project === null ? undefined : store.projects.get(project);
  if (project !== null && !found) {
    throw expecting("project_id", "limit");
  }
  return found?.is_domain ? { project_id: null, domain_id: project } : { project_id: project, domain_id: domain };
}

/** A token of the system lists all, one of a domain those in it, one of a project its own. */
function listed({ store, token }: IdentityCall): readonly Limit[] {
  const { system, domainId, projectId } = token.record;
  return store.limits.list().filter((limit) => {
    if (system) {
      return true;
    }
    if (domainId !== null) {
      const project = limit.project_id === null ? undefined : store.projects.get(limit.project_id);
      return limit.domain_id === domainId || project?.domain_id === domainId;
    }
    return projectId !== null && limit.project_id === projectId;
  });
}

/** @throws {IdentityError} 401, 403, 404 */
function found(call: IdentityCall, what: "get" | "update" | "delete"): Limit {
  const id = call.param("id");
  const limit = call.store.limits.get(id);
  const project = limit?.project_id == null ? undefined : call.store.projects.get(limit.project_id);
  call.enforce(`identity:${what}_limit`, { ...targetOf("limit", limit), ...targetOf("project", project) });
  if (!limit) {
    throw limitNotFound("limit", id);
  }
  return limit;
}

/** With what the registered limit says. */
function view({ store }: IdentityCall, { registered_limit_id: registered, ...limit }: Limit) {
  const key = store.registeredLimits.get(registered);
  return {
    ...limit,
    service_id: key?.service_id ?? null,
    region_id: key?.region_id ?? null,
    resource_name: key?.resource_name ?? null,
  };
}

function withLink(call: IdentityCall, limit: Limit): Readonly<Record<string, unknown>> {
  return { ...view(call, limit), links: { self: `${call.root}/limits/${limit.id}` } };
}
