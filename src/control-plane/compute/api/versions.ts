import type { Json } from "../../http/json.js";

/** 2.96: Dalmatian. Later ones are about features that this project doesn't have. */
export const MAX_MICROVERSION = 96;
export const MIN_MICROVERSION = 1;

const MEDIA_TYPE = "application/vnd.openstack.compute+json;version=";
const DESCRIBED_BY = { rel: "describedby", type: "text/html", href: "http://docs.openstack.org/" };

const VERSIONS = {
  "v2.0": { path: "v2", status: "DEPRECATED", version: "", min: "", updated: "2011-01-21T11:33:21Z", media: "2" },
  "v2.1": {
    path: "v2.1",
    status: "CURRENT",
    version: `2.${MAX_MICROVERSION}`,
    min: `2.${MIN_MICROVERSION}`,
    updated: "2013-07-23T11:33:21Z",
    media: "2.1",
  },
} as const;
export type ApiVersion = keyof typeof VERSIONS;

/** GET / */
export function versionList(baseUrl: string): Json {
  return {
    versions: Object.entries(VERSIONS).map(([id, { status, version, min, updated, path }]) => ({
      id,
      status,
      version,
      min_version: min,
      updated,
      links: [{ rel: "self", href: `${baseUrl}/${path}/` }],
    })),
  };
}

/** GET /v2.1 */
export function versionDocument(baseUrl: string, id: ApiVersion): Json {
  const { status, version, min, updated, path, media } = VERSIONS[id];
  return {
    version: {
      id,
      status,
      version,
      min_version: min,
      updated,
      links: [{ rel: "self", href: `${baseUrl}/${path}/` }, DESCRIBED_BY],
      "media-types": [{ base: "application/json", type: MEDIA_TYPE + media }],
    },
  };
}
