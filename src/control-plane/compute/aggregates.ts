import { isConductorError } from "../../conductor-client/errors.js";
import { isPlacementError } from "../../placement-client/errors.js";
import { badRequest, conflict, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { type Schema, schemas } from "../http/schemas.js";
import { isoMicroseconds } from "../http/times.js";
import { addAggregateHost, removeAggregateHost } from "../store/aggregate-hosts.js";
import type { Aggregate } from "../store/aggregates.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireAdmin } from "./api/call.js";
import type { ComputeDeps } from "./api/deps.js";
import { HOSTNAME, NAME, UUID_TEXT } from "./api/schema-parts.js";
import { findServersZoneRejection, findZoneRejection } from "./availability-zones.js";

interface HostBody {
  readonly host: string;
}

/** Returns the schema of an object with a single required property. */
const only = (name: string, schema: Schema): Schema => object({ [name]: schema }, { required: [name] });

const ZONE = {
  oneOf: [{ type: "string", minLength: 1, maxLength: 255, format: "az_name" }, { type: "null" }],
};

const CREATE = schemas<{
  readonly aggregate: { readonly name: string; readonly availability_zone?: string | null };
}>([1, only("aggregate", object({ name: NAME, availability_zone: ZONE }, { required: ["name"] }))]);

const UPDATE = schemas<{
  readonly aggregate: { readonly name?: string; readonly availability_zone?: string | null };
}>([
  1,
  only(
    "aggregate",
    object(
      { name: { ...NAME, format: "name_with_spaces" }, availability_zone: ZONE },
      { anyOf: [{ required: ["name"] }, { required: ["availability_zone"] }] },
    ),
  ),
]);

const HOST_BODY = only("host", HOSTNAME);

const ADD_HOST = schemas<{ readonly add_host: HostBody }>([1, only("add_host", HOST_BODY)]);

const REMOVE_HOST = schemas<{ readonly remove_host: HostBody }>([1, only("remove_host", HOST_BODY)]);

const METADATA = {
  type: "object",
  patternProperties: { "^[a-zA-Z0-9-_:. ]{1,255}$": { type: ["string", "null"], maxLength: 255 } },
  additionalProperties: false,
};

const SET_METADATA = schemas<{
  readonly set_metadata: { readonly metadata: Readonly<Record<string, string | null>> };
}>([1, only("set_metadata", only("metadata", METADATA))]);

const CACHE_IMAGES = schemas<{ readonly cache: readonly { readonly id: string }[] }>([
  81,
  only("cache", { type: "array", minItems: 1, items: only("id", UUID_TEXT) }),
]);

type View = { readonly [key: string]: Json };

type Action = (deps: ComputeDeps, call: Call) => Aggregate | Promise<Aggregate>;

const POLICY = "os_compute_api:os-aggregates:";

const ACTIONS: Readonly<Record<string, Action>> = {
  add_host: addHost,
  remove_host: removeHost,
  set_metadata: setMetadata,
};

const policy = (what: string): string => `os_compute_api:os-aggregates:${what}`;

/** Routes of host aggregates. POST, PUT and DELETE respond with 200, as in Nova, and its clients expect that. */
export const AGGREGATE_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/os-aggregates",
    handle: (deps, call) => {
      requireAdmin(call, policy("index"));
      return { body: { aggregates: deps.store.aggregates.list().map((each) => aggregateView(each, call.version)) } };
    },
  },
  { method: "POST", path: "/os-aggregates", handle: create },
  {
    method: "GET",
    path: "/os-aggregates/:id",
    handle: (deps, call) => {
      requireAdmin(call, policy("show"));
      return { body: { aggregate: aggregateView(findAggregate(deps, call), call.version) } };
    },
  },
  { method: "PUT", path: "/os-aggregates/:id", handle: update },
  { method: "DELETE", path: "/os-aggregates/:id", handle: destroy },
  { method: "POST", path: "/os-aggregates/:id/action", handle: aggregateAction },
  {
    method: "POST",
    path: "/os-aggregates/:id/images",
    from: 81,
    handle: (deps, call) => {
      const { cache } = call.body(CACHE_IMAGES);
      requireAdmin(call, "compute:aggregates:images");
      if (new Set(cache.map(({ id }) => id)).size < cache.length) {
        throw badRequest("Duplicate images in request");
      }
      findAggregate(deps, call);
      const unknown = cache.find(({ id }) => deps.images.find(id, call.credentials) === undefined);
      if (unknown) {
        throw badRequest(`Image ${unknown.id} could not be found.`);
      }
      // Hosts cache no images, so there is nothing to fetch in advance.
      return { status: 202 };
    },
  },
];

function create({ store }: ComputeDeps, call: Call): ComputeResponse {
  const { name, availability_zone: zone } = call.body(CREATE).aggregate;
  requireAdmin(call, policy("create"));
  const aggregate = store.aggregates.create({ name, metadata: zone ? { availability_zone: zone } : {} });
  return { body: { aggregate: newAggregateView(aggregate, call.version) } };
}

function update(deps: ComputeDeps, call: Call): ComputeResponse {
  const { name, ...metadata } = call.body(UPDATE).aggregate;
  requireAdmin(call, policy("update"));
  const changed = deps.store.transaction(() => {
    const aggregate = findAggregate(deps, call);
    const rejection = findZoneRejection(deps.store, aggregate, metadata, { hosts: aggregate.hosts, noInstances: true });
    if (rejection) {
      throw badRequest(`Cannot update aggregate ${aggregate.id}. Reason: ${rejection}.`);
    }
    const named = name === undefined ? {} : { name: name.trim() };
    const updated = deps.store.aggregates.update(aggregate.id, { ...named, metadata });
    // As in Nova, the response contains the time of a metadata change as `updated_at`; it is not stored.
    return Object.keys(metadata).length > 0 ? { ...updated, updatedAt: deps.clock.now() } : updated;
  });
  return { body: { aggregate: aggregateView(changed, call.version) } };
}

function destroy(deps: ComputeDeps, call: Call): ComputeResponse {
  requireAdmin(call, policy("delete"));
  const { id, hosts } = findAggregate(deps, call);
  if (hosts.length > 0) {
    throw badRequest(`Cannot remove host from aggregate ${id}. Reason: Host aggregate is not empty.`);
  }
  deps.store.aggregates.destroy(id);
  return { status: 200 };
}

/** Handles POST /os-aggregates/{id}/action. The body's only property names the action. */
async function aggregateAction(deps: ComputeDeps, call: Call): Promise<ComputeResponse> {
  const body = call.json();
  const [name = "", ...more] = typeof body === "object" && body !== null ? Object.keys(body) : [];
  const action = more.length === 0 && Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  if (!action) {
    throw badRequest(`There is no such action: ${name}`);
  }
  return { body: { aggregate: aggregateView(await action(deps, call), call.version) } };
}

function addHost(deps: ComputeDeps, call: Call): Aggregate | Promise<Aggregate> {
  const { host } = call.body(ADD_HOST).add_host;
  requireAdmin(call, `${POLICY}add_host`);
  const { store } = deps;
  if (!store.mappings.host(host)) {
    throw notFound(`Host '${host}' is not mapped to any cell`);
  }
  if (!isComputeHost(deps, host)) {
    throw notFound(`Compute host ${host} could not be found.`);
  }
  const aggregate = findAggregate(deps, call);
  const rejection =
    findZoneRejection(store, aggregate, aggregate.metadata, { hosts: [host], noInstances: false }) ??
    findServersZoneRejection(store, aggregate, host, "added to");
  if (rejection) {
    throw conflict(`Cannot add host to aggregate ${aggregate.id}. Reason: ${rejection}.`);
  }
  return addAggregateHost(deps, aggregate, host, call.requestId);
}

async function removeHost(deps: ComputeDeps, call: Call): Promise<Aggregate> {
  const { host } = call.body(REMOVE_HOST).remove_host;
  requireAdmin(call, `${POLICY}remove_host`);
  const missing = notFound(`Cannot remove host ${host} in aggregate ${call.param("id")}`);
  const aggregate = findAggregate(deps, call);
  if (!aggregate.hosts.includes(host)) {
    throw missing;
  }
  const rejection = findServersZoneRejection(deps.store, aggregate, host, "removed from");
  if (rejection) {
    throw conflict(`Cannot remove host from aggregate ${aggregate.id}. Reason: ${rejection}.`);
  }
  try {
    return await removeAggregateHost(deps, aggregate, host, call.requestId);
  } catch (error) {
    if (isConductorError(error, "AggregateHostNotFound")) {
      throw missing;
    }
    throw isPlacementError(error, "ResourceProviderUpdateConflict") ? conflict(error.message) : error;
  }
}

/** Sets metadata. As in Nova, the response contains the time of the change as `updated_at`; it is not stored. */
function setMetadata(deps: ComputeDeps, call: Call): Aggregate {
  const { metadata } = call.body(SET_METADATA).set_metadata;
  requireAdmin(call, `${POLICY}set_metadata`);
  return deps.store.transaction(() => {
    const aggregate = findAggregate(deps, call);
    const rejection = findZoneRejection(deps.store, aggregate, metadata, { hosts: aggregate.hosts, noInstances: true });
    if (rejection) {
      throw badRequest(`Cannot update metadata of aggregate ${aggregate.id}. Reason: ${rejection}.`);
    }
    return { ...deps.store.aggregates.update(aggregate.id, { metadata }), updatedAt: deps.clock.now() };
  });
}

function isComputeHost({ store }: ComputeDeps, host: string): boolean {
  return store.services.getByHost(host, "nova-compute") !== null;
}

/** Renders a new aggregate, without the hosts and metadata that only later responses contain. */
function newAggregateView(aggregate: Aggregate, version: number): View {
  return {
    id: aggregate.id,
    ...(version >= 41 ? { uuid: aggregate.uuid } : {}),
    name: aggregate.name,
    availability_zone: aggregate.metadata.availability_zone ?? null,
    created_at: isoMicroseconds(aggregate.createdAt),
    updated_at: aggregate.updatedAt === null ? null : isoMicroseconds(aggregate.updatedAt),
    deleted: false,
    deleted_at: null,
  };
}

function aggregateView(aggregate: Aggregate, version: number): View {
  return {
    ...newAggregateView(aggregate, version),
    hosts: aggregate.hosts,
    metadata: aggregate.metadata,
  };
}

/** Returns the aggregate that the path names. @throws {HttpError} 400, 404 */
function findAggregate({ store }: Pick<ComputeDeps, "store">, call: Call): Aggregate {
  const id = call.param("id");
  if (!/^-?\d{1,15}$/.test(id)) {
    throw badRequest("Invalid input received: id must be an integer");
  }
  const aggregate = store.aggregates.get(Number(id));
  if (!aggregate) {
    throw notFound(`Aggregate ${id} could not be found.`);
  }
  return aggregate;
}

function object(properties: Readonly<Record<string, Schema>>, more: Schema = {}): Schema {
  return {
    type: "object",
    properties,
    additionalProperties: false,
    ...more,
  };
}
