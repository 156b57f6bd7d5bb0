import type { Digests } from "../../../runtime/digests.js";
import type { IdentityCall } from "../api/identity-call.js";
import { stableId } from "../stable-id.js";
import { REGION } from "../store/bootstrap.js";
import type { Endpoint, Service } from "../store/records.js";
import { type LiveToken, PerToken } from "../tokens/live-tokens.js";

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
  { type: "baremetal", name: "ironic", path: "/baremetal" },
] as const;

const SIDES = ["public", "internal", "admin"] as const;

type OwnService = Service & { readonly name: string };

interface Own {
  readonly services: readonly OwnService[];
  /** Without the control plane's address before the path. */
  readonly endpoints: readonly Endpoint[];
}

/** Their ids are digests of their names: there are two dozen, and each token's answer shows them all. */
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

/** The services of this control plane. */
export function ownServices(digests: Pick<Digests, "sha256">): readonly OwnService[] {
  return own(digests).services;
}

const rootOf = ({ request }: IdentityCall): string => request.baseUrl.replace(/\/identity$/, "");

/** Their endpoints, as this client reaches them. */
export function ownEndpoints(call: IdentityCall): readonly Endpoint[] {
  const root = rootOf(call);
  return own(call.services.digests).endpoints.map((endpoint) => ({ ...endpoint, url: root + endpoint.url }));
}

/** By the address at which the client reaches Identity. */
const CATALOGS = new PerToken<Map<string, readonly CatalogService[]>>();

/** Clients reach a control plane by one address or two; one who makes them up gets no more than these remembered. */
const MAX_ROOTS = 4;

/** Where the services are, those that clients have added included. */
export function catalogOf(call: IdentityCall, live: LiveToken): readonly CatalogService[] {
  const root = rootOf(call);
  const known = CATALOGS.of(live, () => new Map());
  const services = known.get(root) ?? workedOut(call, live);
  if (known.size < MAX_ROOTS) {
    known.set(root, services);
  }
  return services;
}

function workedOut(call: IdentityCall, { record }: LiveToken): readonly CatalogService[] {
  const { store, services } = call;
  const endpoints = [...ownEndpoints(call), ...store.endpoints.list().filter(({ enabled }) => enabled)];
  const fill = (url: string) =>
    url
      .replace(/[$%]\((?:project_id|tenant_id)\)s/g, record.projectId ?? "")
      .replace(/[$%]\(user_id\)s/g, record.userId);
  const all = [...ownServices(services.digests), ...store.services.list().filter(({ enabled }) => enabled)];
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
