import type { Digests } from "../../runtime/digests.js";
import { stableId } from "./directory.js";

interface CatalogEndpoint {
  readonly id: string;
  readonly interface: "public" | "internal" | "admin";
  readonly region_id: string;
  readonly url: string;
  readonly region: string;
}

export interface CatalogService {
  readonly endpoints: readonly CatalogEndpoint[];
  readonly id: string;
  readonly type: string;
  readonly name: string;
}

export const REGION = "RegionOne";

const SERVICES = [
  { type: "identity", name: "keystone", path: "/identity/v3" },
  { type: "compute", name: "nova", path: "/compute/v2.1" },
  { type: "placement", name: "placement", path: "/placement" },
  { type: "image", name: "glance", path: "/image" },
  { type: "baremetal", name: "ironic", path: "/baremetal" },
] as const;

/** @param root `http://host:port`, below which the embedded services are mounted */
export function serviceCatalog(digests: Pick<Digests, "sha256">, root: string): readonly CatalogService[] {
  return SERVICES.map(({ type, name, path }) => ({
    endpoints: (["public", "internal", "admin"] as const).map((side) => ({
      id: stableId(digests, `endpoint/${type}/${side}`),
      interface: side,
      region_id: REGION,
      url: root + path,
      region: REGION,
    })),
    id: stableId(digests, `service/${type}`),
    type,
    name,
  }));
}
