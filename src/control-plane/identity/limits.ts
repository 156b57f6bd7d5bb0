import { Type } from "typebox";
import { badRequest, forbidden, type HttpError, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { routes } from "../http/router.js";
import { checkBody } from "./api/check-body.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import { conflict, expecting } from "./api/identity-error.js";
import { listBody, resourceRoutes, targetOf } from "./api/resource-routes.js";
import { ownServices } from "./catalog.js";
import { type CreateOf, createSchema, updateSchema } from "./store/identity-resource.js";
import type { IdentityStore } from "./store/identity-store.js";
import { isSameName } from "./store/record-tables.js";
import { LIMITS, type Limit, REGISTERED_LIMITS, type RegisteredLimit } from "./store/records.js";

/** The unique key of a registered limit. */
type LimitKey = Pick<RegisteredLimit, "service_id" | "region_id" | "resource_name">;

const CREATE_REGISTERED_LIMITS = Type.Array(createSchema(REGISTERED_LIMITS), { minItems: 1 });

const KIND = "registered_limit";

/**
 * Routes of registered limits: resources that can be limited, by service and region. A request creates all of its limits
 * or none.
 */
export const REGISTERED_LIMIT_ROUTES: readonly IdentityRoute[] = [
  ...routes<IdentityRoute>({
    "POST /v3/registered_limits": (call) => {
      call.enforce("identity:create_registered_limits");
      const requestedLimits = checkBody(CREATE_REGISTERED_LIMITS, call.body("registered_limits"));
      const { store } = call;
      const made = store.sql.transaction(() =>
        requestedLimits.map(({ region_id = null, description = null, ...rest }) => {
          const limit = { region_id, description, ...rest, id: call.newId() };
          requirePlace(call, KIND, limit);
          assertUniqueKey(call, limit);
          return store.registeredLimits.insert(limit);
        }),
      );
      return { status: 201, body: collectionBody(call, "registered_limits", made) };
    },
  }),
  ...resourceRoutes(REGISTERED_LIMITS, {
    missing: (id) => limitNotFound("registered limit", id),
    table: (store) => store.registeredLimits,
    update: (call, before, { id: _id, ...changes }) =>
      call.store.sql.transaction(() => {
        assertUnused(call, before.id);
        const after = { ...before, ...changes };
        // The service may have been deleted since the registered limit was created.
        requirePlace(call, KIND, changes);
        assertUniqueKey(call, after, before.id);
        return call.store.registeredLimits.update(after);
      }),
    remove: (call, { id }) => {
      assertUnused(call, id);
      call.store.registeredLimits.delete(id);
    },
  }),
];

/** A limit belongs to either a project or a domain. */
const CREATE = Type.Array(createSchema(LIMITS), { minItems: 1 });

const UPDATE = updateSchema(LIMITS);

/** Routes of limits of projects and domains. A request creates all of its limits or none. */
export const LIMIT_ROUTES = routes<IdentityRoute>({
  "GET /v3/limits/model": (call) => {
    call.enforce("identity:get_limit_model");
    const description = "Limit enforcement and validation does not take project hierarchy into consideration.";
    return { body: { model: { name: "flat", description } } };
  },
  "GET /v3/limits": (call) => {
    call.enforce("identity:list_limits");
    const limits = listed(call).map((limit) => withLink(call, limit));
    return { body: listBody(call, "limits", limits, LIMITS.attributes) };
  },
  "POST /v3/limits": (call) => {
    call.enforce("identity:create_limits");
    const requestedLimits = checkBody(CREATE, call.body("limits"));
    const made = call.store.sql.transaction(() => requestedLimits.map((each) => view(call, create(call, each))));
    return { status: 201, body: collectionBody(call, "limits", made) };
  },
  "GET /v3/limits/:id": (call) => ({ body: { limit: withLink(call, found(call, "get")) as Json } }),
  "PATCH /v3/limits/:id": (call) => {
    const limit = found(call, "update");
    const { id, ...changes } = checkBody(UPDATE, call.body("limit"));
    if (id !== undefined && id !== limit.id) {
      throw badRequest("Cannot change ID");
    }
    return { body: { limit: withLink(call, call.store.limits.update({ ...limit, ...changes })) as Json } };
  },
  "DELETE /v3/limits/:id": (call) => {
    call.store.limits.delete(found(call, "delete").id);
    return { status: 204 };
  },
});

function create(call: IdentityCall, attributes: CreateOf<typeof LIMITS.attributes>): Limit {
  const { store } = call;
  const { service_id, region_id = null, resource_name, resource_limit, description = null } = attributes;
  const key = { service_id, region_id, resource_name };
  requirePlace(call, "limit", key);
  const owner = ownerOf(call, attributes);
  const registered = registeredLimit(store, key);
  if (!registered) {
    throw forbidden("Unable to create a limit that has no corresponding registered limit.");
  }
  const limit = { id: call.newId(), registered_limit_id: registered.id, ...owner, resource_limit, description };
  if (store.limits.findBy({ registered_limit_id: registered.id, ...owner }).length > 0) {
    throw conflict("limit", "Duplicate entry");
  }
  return store.limits.insert(limit);
}

/** Returns the owner of a new limit. The project id of a domain counts as a domain. @throws {HttpError} 400 */
function ownerOf(
  { store }: IdentityCall,
  attributes: CreateOf<typeof LIMITS.attributes>,
): Pick<Limit, "project_id" | "domain_id"> {
  const { project_id: project, domain_id: domain } = { project_id: null, domain_id: null, ...attributes };
  if ((project === null) === (domain === null)) {
    throw badRequest("A limit is of a project or of a domain: give project_id or domain_id.");
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

/** Returns the limits that a token can list: all for system scope, those in the domain for a domain, its own for a project. */
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

/** Renders a limit with the key of its registered limit. */
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

function assertUniqueKey({ store }: IdentityCall, key: LimitKey, own?: string): void {
  const other = registeredLimit(store, key);
  if (other && other.id !== own) {
    throw conflict(KIND, "Duplicate entry");
  }
}

function assertUnused({ store }: IdentityCall, id: string): void {
  if (store.limits.findBy({ registered_limit_id: id }).length > 0) {
    throw forbidden(
      `Unable to update or delete registered limit ${id} because there are project limits associated with it.`,
    );
  }
}

function registeredLimit(store: IdentityStore, key: LimitKey): RegisteredLimit | undefined {
  return store.registeredLimits
    .findBy({ service_id: key.service_id })
    .find(
      ({ region_id: region, resource_name: name }) =>
        isSameName(region, key.region_id) && isSameName(name, key.resource_name),
    );
}

function requirePlace(
  call: IdentityCall,
  kind: string,
  { service_id: service, region_id: region = null }: Partial<Pick<LimitKey, "service_id" | "region_id">>,
): void {
  const { store, services } = call;
  const isOwn = ownServices(services.digests).some(({ id }) => id === service);
  if (service !== undefined && !isOwn && !store.services.get(service)) {
    throw expecting("service_id", kind);
  }
  if (region !== null && !store.regions.get(region)) {
    throw expecting("region_id", kind);
  }
}

function limitNotFound(kind: string, id: string): HttpError {
  return notFound(`Could not find ${kind} for ${id}.`);
}

function collectionBody(call: IdentityCall, plural: string, records: readonly { readonly id: string }[]): Json {
  const withLinks = records.map((record) => ({ ...record, links: { self: `${call.root}/${plural}/${record.id}` } }));
  return { [plural]: withLinks as unknown as Json };
}

/** Returns a project's limit of a resource. -1: unlimited; undefined: no registered limit exists. */
export function effectiveLimit(store: IdentityStore, key: LimitKey, projectId: string): number | undefined {
  const registered = registeredLimit(store, key) ?? registeredLimit(store, { ...key, region_id: null });
  const [own] = registered ? store.limits.findBy({ registered_limit_id: registered.id, project_id: projectId }) : [];
  return own?.resource_limit ?? registered?.default_limit;
}
