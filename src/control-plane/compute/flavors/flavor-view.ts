import type { Flavor } from "../../../records/index.js";
import type { Json } from "../../http/json.js";
import type { Links } from "../api/links.js";

type View = { readonly [key: string]: Json };

const described = ({ description }: Flavor, version: number): View => (version >= 55 ? { description } : {});

export function flavorBrief(flavor: Flavor, version: number, links: Links): View {
  return {
    id: flavor.flavorid,
    name: flavor.name,
    links: links.pair(`flavors/${flavor.flavorid}`),
    ...described(flavor, version),
  };
}

export function flavorDetail(flavor: Flavor, version: number, links: Links): View {
  return {
    id: flavor.flavorid,
    name: flavor.name,
    ram: flavor.memoryMb,
    disk: flavor.rootGb,
    swap: flavor.swap === 0 && version < 75 ? "" : flavor.swap,
    "OS-FLV-EXT-DATA:ephemeral": flavor.ephemeralGb,
    "OS-FLV-DISABLED:disabled": flavor.disabled,
    vcpus: flavor.vcpus,
    "os-flavor-access:is_public": flavor.isPublic,
    rxtx_factor: flavor.rxtxFactor,
    links: links.pair(`flavors/${flavor.flavorid}`),
    ...described(flavor, version),
    ...(version >= 61 ? { extra_specs: flavor.extraSpecs } : {}),
  };
}
