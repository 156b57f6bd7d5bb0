import type { Digests } from "../../../runtime/digests.js";
import type { IdentityCall } from "../api/identity-call.js";
import { stableId } from "../stable-id.js";
import { REGION } from "../store/bootstrap.js";
import type { Endpoint, Service } from "../store/records.js";
import type { LiveToken } from "../tokens/live-tokens.js";

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

/** The services of this control plane. */
export function ownServices(digests: Pick<Digests, "sha256">): readonly (Service & { readonly name: string })[] {
  return OWN.map(({ type, name }) => ({ id: stableId(digests, `service/${type}`), type, name, enabled: true }));
}

/** Their endpoints, as this client reaches them. */
export function ownEndpoints({ services, request }: IdentityCall): readonly Endpoint[] {
  const root = request.baseUrl.replace(/\/identity$/, "");
  return OWN.flatMap(({ type, path }) =>
    SIDES.map((side) => ({
      id: stableId(services.digests, `endpoint/${type}/${side}`),
      interface: side,
      region_id: REGION,
      url: root + path,
      region: REGION,
      service_id: stableId(services.digests, `service/${type}`),
      enabled: true,
    })),
  );
}

/** Where the services are, those that clients have added included. */
export function catalogOf(call: IdentityCall, { record }: LiveToken): readonly CatalogService[] {
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
