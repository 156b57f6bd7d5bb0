import { Type } from "typebox";
import { checkBody } from "../api/check-body.js";
import type { IdentityCall, IdentityRoute } from "../api/identity-call.js";
import { conflict, expecting, IdentityError, notFound } from "../api/identity-error.js";
import { resourceRoutes } from "../api/resource-routes.js";
import { BOOLEAN, changes, members, NAME, orNull, TEXT, URL_TEXT } from "../api/schema-parts.js";
import { isSameName } from "../name-key.js";
import type { IdentityStore } from "../store/identity-store.js";
import type { Endpoint, EndpointGroup, Region, Service } from "../store/records.js";
import { ownEndpoints, ownServices } from "./catalog.js";

const SERVICE = { enabled: BOOLEAN, name: NAME };
const SERVICE_TYPE = Type.String({ minLength: 1, maxLength: 255 });
const CREATE_SERVICE = members({ type: SERVICE_TYPE }, SERVICE);
const UPDATE_SERVICE = changes({ type: SERVICE_TYPE, ...SERVICE });

const ENDPOINT = {
  interface: Type.Unsafe<"admin" | "internal" | "public">({ type: "string", enum: ["admin", "internal", "public"] }),
  service_id: TEXT,
  url: URL_TEXT,
};
const ENDPOINT_MORE = { enabled: BOOLEAN, region_id: orNull(TEXT), region: orNull(TEXT) };
const CREATE_ENDPOINT = members(ENDPOINT, ENDPOINT_MORE);
const UPDATE_ENDPOINT = changes({ ...ENDPOINT, ...ENDPOINT_MORE });

const REGION = { description: orNull(TEXT), parent_region_id: orNull(TEXT) };
const CREATE_REGION = members({}, { id: TEXT, ...REGION });
const UPDATE_REGION = changes(REGION);

const FILTERS = Type.Unsafe<EndpointGroup["filters"]>({ type: "object" });
const CREATE_ENDPOINT_GROUP = members({ name: NAME, filters: FILTERS }, { description: orNull(TEXT) });
const UPDATE_ENDPOINT_GROUP = changes({ name: NAME, filters: FILTERS, description: orNull(TEXT) });

/** Services, endpoints and regions: those of this control plane, which nobody changes, and those that clients add. */
export const CATALOG_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes<Service>({
    plural: "services",
    singular: "service",
    filters: ["type", "name"],
    table: (store) => store.services,
    own: (call) => ownServices(call.services.digests),
    list: ({ store }) => store.services.list(),
    create: (call, body) => {
      return call.store.services.insert({ enabled: true, ...checkBody(CREATE_SERVICE, body), id: call.newId() });
    },
    update: ({ store }, service, body) => store.services.update({ ...service, ...checkBody(UPDATE_SERVICE, body) }),
    remove: ({ store }, service) => {
      for (const endpoint of store.endpoints.list()) {
        if (endpoint.service_id === service.id) {
          store.endpoints.delete(endpoint.id);
        }
      }
      store.services.delete(service.id);
    },
  }),
  ...resourceRoutes<Endpoint>({
    plural: "endpoints",
    singular: "endpoint",
    filters: ["interface", "service_id", "region_id"],
    table: (store) => store.endpoints,
    own: ownEndpoints,
    list: ({ store }) => store.endpoints.list(),
    create: (call, body) => {
      const requested = checkBody(CREATE_ENDPOINT, body);
      const endpoint = { enabled: true, ...requested, ...inRegion(call.store, requested), id: call.newId() };
      requireService(call, endpoint);
      return call.store.endpoints.insert(endpoint);
    },
    update: (call, endpoint, body) => {
      const requested = checkBody(UPDATE_ENDPOINT, body);
      const moved = requested.region !== undefined || requested.region_id !== undefined;
      const after = { ...endpoint, ...requested, ...(moved ? inRegion(call.store, requested) : {}) };
      requireService(call, after);
      return call.store.endpoints.update(after);
    },
    remove: ({ store }, endpoint) => store.endpoints.delete(endpoint.id),
  }),
  ...resourceRoutes<Region>({
    plural: "regions",
    singular: "region",
    filters: ["parent_region_id"],
    table: (store) => store.regions,
    list: ({ store }) => store.regions.list(),
    create: (call, body) => createRegion(call, checkBody(CREATE_REGION, body)),
    update: ({ store }, region, body) => {
      const requested = checkBody(UPDATE_REGION, body);
      const after = { ...region, ...requested, description: requested.description ?? region.description };
      requireParent(store, after);
      return store.regions.update(after);
    },
    remove: (call, region) => {
      removeRegion(call, region.id);
    },
  }),
  // PUT makes a region of that id.
  {
    method: "PUT",
    path: "/v3/regions/:id",
    handle: (call) => {
      call.enforce("identity:create_region");
      const requested = checkBody(CREATE_REGION, call.body("region"));
      const region = createRegion(call, { ...requested, id: call.param("id") });
      return { status: 201, body: { region: { ...region, links: { self: `${call.root}/regions/${region.id}` } } } };
    },
  },
  ...resourceRoutes<EndpointGroup>({
    plural: "endpoint_groups",
    singular: "endpoint_group",
    path: "/v3/OS-EP-FILTER/endpoint_groups",
    filters: ["name"],
    table: (store) => store.endpointGroups,
    list: ({ store }) => store.endpointGroups.list(),
    create: (call, body) => {
      const group = { description: null, ...checkBody(CREATE_ENDPOINT_GROUP, body), id: call.newId() };
      assertGroupNameFree(call, group);
      return call.store.endpointGroups.insert(group);
    },
    update: (call, group, body) => {
      const after = { ...group, ...checkBody(UPDATE_ENDPOINT_GROUP, body) };
      assertGroupNameFree(call, after);
      return call.store.endpointGroups.update(after);
    },
    remove: ({ store }, group) => store.endpointGroups.delete(group.id),
  }),
];

function requireService(call: IdentityCall, { service_id: id }: Endpoint): void {
  const known = ownServices(call.services.digests).some((service) => service.id === id) || call.store.services.get(id);
  if (!known) {
    throw expecting("endpoint service_id", "service table");
  }
}

/** An old client names a region that need not be there yet; a new one gives the id of one that is. */
function inRegion(
  store: IdentityStore,
  requested: { readonly region?: string | null; readonly region_id?: string | null },
): { readonly region: string | null; readonly region_id: string | null } {
  const id = requested.region_id ?? requested.region ?? null;
  if (id !== null && !store.regions.get(id)) {
    if (requested.region_id != null) {
      throw new IdentityError(400, `Could not find region: ${id}.`);
    }
    store.regions.insert({ id, description: "", parent_region_id: null });
  }
  return { region: id, region_id: id };
}

interface NewRegion {
  readonly id?: string;
  readonly description?: string | null;
  readonly parent_region_id?: string | null;
}

function createRegion(call: IdentityCall, requested: NewRegion): Region {
  const { store } = call;
  const region = {
    ...requested,
    id: requested.id || call.newId(),
    description: requested.description ?? "",
    parent_region_id: requested.parent_region_id ?? null,
  };
  if (store.regions.get(region.id)) {
    throw conflict("region", `Duplicate ID, ${region.id}.`);
  }
  requireParent(store, region);
  return store.regions.insert(region);
}

/** @throws {IdentityError} 400, 404 */
function requireParent(store: IdentityStore, { id, parent_region_id: parentId }: Region): void {
  for (let above = parentId; above !== null; above = store.regions.get(above)?.parent_region_id ?? null) {
    if (isSameName(above, id)) {
      throw new IdentityError(400, `The specified parent region ${parentId} would create a circular region hierarchy.`);
    }
    if (!store.regions.get(above)) {
      throw notFound("region", above);
    }
  }
}

/** With the regions below it. */
function removeRegion(call: IdentityCall, id: string): void {
  const { store } = call;
  const below = (region: string): readonly string[] => [
    region,
    ...store.regions.list().flatMap((one) => (isSameName(one.parent_region_id, region) ? below(one.id) : [])),
  ];
  const regions = below(id);
  const endpoints = [...ownEndpoints(call), ...store.endpoints.list()];
  if (endpoints.some((endpoint) => regions.some((region) => isSameName(region, endpoint.region_id)))) {
    throw new IdentityError(
      403,
      `Unable to delete region ${id} because it or its child regions have associated endpoints.`,
    );
  }
  for (const region of regions) {
    store.regions.delete(region);
  }
}

function assertGroupNameFree({ store }: IdentityCall, { id, name }: EndpointGroup): void {
  const other = store.endpointGroups.list().find((group) => isSameName(group.name, name));
  if (other && other.id !== id) {
    throw conflict("endpoint_group", `Duplicate entry found with name ${name}`);
  }
}
