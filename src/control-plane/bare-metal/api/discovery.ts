import type { Json } from "../../http/json.js";
import { links } from "./call.js";
import { MAX_MINOR } from "./versions.js";

function version(root: string): Json {
  return {
    id: "v1",
    links: [{ href: `${root}/v1/`, rel: "self" }],
    status: "CURRENT",
    min_version: "1.1",
    version: `1.${MAX_MINOR}`,
  };
}

/** GET / */
export function rootDocument(root: string): Json {
  return {
    name: "OpenStack Ironic API",
    description: "Ironic is an OpenStack project which enables the provision and management of baremetal machines.",
    default_version: version(root),
    versions: [version(root)],
  };
}

/** Collection → the first minor version that has it. */
const COLLECTIONS: Readonly<Record<string, number>> = { nodes: 1, ports: 1, drivers: 1, portgroups: 23, volume: 32 };

/** GET /v1; leaves out the collections that this service does not have. */
export function v1Document(root: string, minor: number): Json {
  return {
    id: "v1",
    links: [
      { href: `${root}/v1/`, rel: "self" },
      {
        href: "https://docs.openstack.org//ironic/latest/contributor//webapi.html",
        rel: "describedby",
        type: "text/html",
      },
    ],
    media_types: { base: "application/json", type: "application/vnd.openstack.ironic.v1+json" },
    ...Object.fromEntries(
      Object.entries(COLLECTIONS)
        .filter(([, from]) => minor >= from)
        .map(([name]) => [name, links(root, `${name}/`).map(({ href, rel }) => ({ href, rel }))]),
    ),
    version: version(root),
  };
}
