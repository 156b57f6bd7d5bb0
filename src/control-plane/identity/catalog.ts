import type { Digests } from "../../runtime/cryptography.js";
import { badRequest, forbidden } from "../http/http-error.js";
import { routes } from "../http/router.js";
import { checkBody } from "./api/check-body.js";
import type { IdentityCall, IdentityRoute } from "./api/identity-call.js";
import { conflict, expecting } from "./api/identity-error.js";
import { requireRecord, resourceRoutes } from "./api/resource-routes.js";
import { REGION } from "./store/bootstrap.js";
import { type CreateOf, createSchema } from "./store/identity-resource.js";
import type { IdentityStore } from "./store/identity-store.js";
import { isSameName } from "./store/record-tables.js";
import {
  ENDPOINT_GROUPS,
  ENDPOINTS,
  type Endpoint,
  type EndpointGroup,
  REGIONS,
  type Region,
  SERVICES,
  type Service,
  stableId,
} from "./store/records.js";
import { type LiveToken, PerToken } from "./tokens/live-tokens.js";

export interface CatalogService {
  readonly endpoints: readonly Omit<Endpoint, "service_id" | "enabled">[];
  readonly id: string;
  readonly type: string;
  readonly name: string;
}

const OWN = [
  { type: "identity", name: "keystone", path: "/identity/v3" },
  { type: "compute", name: "nova", path: "/compute/v2.1" },
  { type: "placement", name: "placement", path: "/placement" },
  { type: "image", name: "glance", path: "/image" },
  { type: "network", name: "neutron", path: "/network" },
  { type: "block-storage", name: "cinder", path: "/volume/v3/$(project_id)s" },
  { type: "volumev3", name: "cinderv3", path: "/volume/v3/$(project_id)s" },
  { type: "baremetal", name: "ironic", path: "/baremetal" },
] as const;

const SIDES = ["public", "internal", "admin"] as const;

type OwnService = Service & { readonly name: string };

interface Own {
  readonly services: readonly OwnService[];
  /** Endpoints whose URLs lack the control plane's address. */
  readonly endpoints: readonly Endpoint[];
}

/** Cached, since ids are digests of names and every token response lists all of them. */
const OWN_BY_DIGESTS = new WeakMap<Pick<Digests, "sha256">, Own>();

function own(digests: Pick<Digests, "sha256">): Own {
  const known = OWN_BY_DIGESTS.get(digests);
  if (known) {
    return known;
  }
  const services = OWN.map(({ type, name }) => ({
    id: stableId(digests, `service/${type}`),
    type,
    name,
    enabled: true,
  }));
  const endpoints = OWN.flatMap(({ type, path }, index) =>
    SIDES.map((side) => ({
      id: stableId(digests, `endpoint/${type}/${side}`),
      interface: side,
      region_id: REGION,
      url: path,
      region: REGION,
      service_id: services[index]?.id ?? "",
      enabled: true,
    })),
  );
  const made = { services, endpoints };
  OWN_BY_DIGESTS.set(digests, made);
  return made;
}

/** Returns the services of this control plane. */
export function ownServices(digests: Pick<Digests, "sha256">): readonly OwnService[] {
  return own(digests).services;
}

const rootOf = ({ request }: IdentityCall): string => request.baseUrl.replace(/\/identity$/, "");

/** Returns the endpoints of this control plane, with the address that the client uses. */
function ownEndpoints(call: IdentityCall): readonly Endpoint[] {
  const root = rootOf(call);
  return own(call.services.digests).endpoints.map((endpoint) => ({ ...endpoint, url: root + endpoint.url }));
}

/** Cached catalogs of a token by the address at which the client reaches Identity. */
const CATALOGS = new PerToken<Map<string, readonly CatalogService[]>>();

/** Limits cached catalogs per token: clients use one or two addresses, but a client can send any Host header. */
const MAX_ROOTS = 4;

/** Returns the catalog, including services that clients have added. */
export function catalogOf(call: IdentityCall, live: LiveToken): readonly CatalogService[] {
  const root = rootOf(call);
  const known = CATALOGS.of(live, () => new Map());
  const services = known.get(root) ?? workedOut(call, live);
  if (known.size < MAX_ROOTS) {
    known.set(root, services);
  }
  return services;
}

const OF_PROJECT = /[$%]\((?:project_id|tenant_id)\)s/;

function workedOut(call: IdentityCall, { record }: LiveToken): readonly CatalogService[] {
  const { store, services } = call;
  const known = [...ownEndpoints(call), ...store.endpoints.findBy({ enabled: true })];
  // Keystone leaves out the endpoints that a token without a project cannot fill in.
  const endpoints = record.projectId === null ? known.filter(({ url }) => !OF_PROJECT.test(url)) : known;
  const fill = (url: string) =>
    url
      .replace(/[$%]\((?:project_id|tenant_id)\)s/g, record.projectId ?? "")
      .replace(/[$%]\(user_id\)s/g, record.userId);
  const all = [...ownServices(services.digests), ...store.services.findBy({ enabled: true })];
  return all.map(({ id, type, name = "" }) => ({
    endpoints: endpoints
      .filter((endpoint) => endpoint.service_id === id)
      .map((one) => ({
        id: one.id,
        interface: one.interface,
        region_id: one.region_id,
        url: fill(one.url),
        region: one.region,
      })),
    id,
    type,
    name,
  }));
}

const CREATE_REGION = createSchema(REGIONS);

/** Routes of services, endpoints and regions: built-in ones, which are read-only, and those that clients add. */
export const CATALOG_ROUTES: readonly IdentityRoute[] = [
  ...resourceRoutes(SERVICES, {
    table: (store) => store.services,
    own: (call) => ownServices(call.services.digests),
    create: (call, attributes) => call.store.services.insert({ enabled: true, ...attributes, id: call.newId() }),
    remove: ({ store }, service) => {
      for (const endpoint of store.endpoints.findBy({ service_id: service.id })) {
        store.endpoints.delete(endpoint.id);
      }
      store.services.delete(service.id);
    },
  }),
  ...resourceRoutes(ENDPOINTS, {
    table: (store) => store.endpoints,
    own: ownEndpoints,
    create: (call, requested) => {
      const endpoint = { enabled: true, ...requested, ...inRegion(call.store, requested), id: call.newId() };
      requireService(call, endpoint);
      return call.store.endpoints.insert(endpoint);
    },
    update: (call, endpoint, requested) => {
      const moved = requested.region !== undefined || requested.region_id !== undefined;
      const after = { ...endpoint, ...requested, ...(moved ? inRegion(call.store, requested) : {}) };
      requireService(call, after);
      return call.store.endpoints.update(after);
    },
  }),
  ...resourceRoutes(REGIONS, {
    table: (store) => store.regions,
    create: createRegion,
    update: ({ store }, region, requested) => {
      const after = { ...region, ...requested, description: requested.description ?? region.description };
      requireParent(store, after);
      return store.regions.update(after);
    },
    remove: removeRegion,
  }),
  ...routes<IdentityRoute>({
    // PUT creates a region with that id.
    "PUT /v3/regions/:id": (call) => {
      call.enforce("identity:create_region");
      const requested = checkBody(CREATE_REGION, call.body("region"));
      const region = createRegion(call, { ...requested, id: call.param("id") });
      return { status: 201, body: { region: { ...region, links: { self: `${call.root}/regions/${region.id}` } } } };
    },
  }),
  ...resourceRoutes(ENDPOINT_GROUPS, {
    table: (store) => store.endpointGroups,
    create: (call, attributes) => {
      const group = { description: null, ...attributes, id: call.newId() };
      assertGroupNameFree(call, group);
      return call.store.endpointGroups.insert(group);
    },
    update: (call, group, changes) => {
      const after = { ...group, ...changes };
      assertGroupNameFree(call, after);
      return call.store.endpointGroups.update(after);
    },
  }),
];

function requireService(call: IdentityCall, { service_id: id }: Endpoint): void {
  const known = ownServices(call.services.digests).some((service) => service.id === id) || call.store.services.get(id);
  if (!known) {
    throw expecting("endpoint service_id", "service table");
  }
}

/** Old clients send a region name that need not exist yet (`region`); new clients send the id of an existing region. */
function inRegion(
  store: IdentityStore,
  requested: { readonly region?: string | null; readonly region_id?: string | null },
): { readonly region: string | null; readonly region_id: string | null } {
  const id = requested.region_id ?? requested.region ?? null;
  if (id !== null && !store.regions.get(id)) {
    if (requested.region_id != null) {
      throw badRequest(`Could not find region: ${id}.`);
    }
    store.regions.insert({ id, description: "", parent_region_id: null });
  }
  return { region: id, region_id: id };
}

function createRegion(call: IdentityCall, requested: CreateOf<typeof REGIONS.attributes>): Region {
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

function requireParent(store: IdentityStore, { id, parent_region_id: parentId }: Region): void {
  for (let above = parentId; above !== null; above = store.regions.get(above)?.parent_region_id ?? null) {
    if (isSameName(above, id)) {
      throw badRequest(`The specified parent region ${parentId} would create a circular region hierarchy.`);
    }
    requireRecord("region", above, store.regions.get(above));
  }
}

/** Deletes a region and the regions below it. */
function removeRegion(call: IdentityCall, { id }: Region): void {
  const { store } = call;
  const below = (region: string): readonly string[] => [
    region,
    ...store.regions.list().flatMap((one) => (isSameName(one.parent_region_id, region) ? below(one.id) : [])),
  ];
  const regions = below(id);
  const endpoints = [...ownEndpoints(call), ...store.endpoints.list()];
  if (endpoints.some((endpoint) => regions.some((region) => isSameName(region, endpoint.region_id)))) {
    throw forbidden(`Unable to delete region ${id} because it or its child regions have associated endpoints.`);
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
