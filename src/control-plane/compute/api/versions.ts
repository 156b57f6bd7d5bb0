import type { ServiceRequest } from "../../../runtime/http-server.js";
import { badRequest, HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { type MicroversionRange, negotiate, ownVersion, standardVersion } from "../../http/microversions.js";

/** 2.96 is Dalmatian's. Later microversions are about features that this project does not have. */
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

const LEGACY_HEADER = "x-openstack-nova-api-version";

const RANGE: MicroversionRange = {
  major: 2,
  minimum: MIN_MICROVERSION,
  maximum: MAX_MICROVERSION,
  parse: (text) => {
    const [, major, minor] = /^([1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/.exec(text) ?? [];
    return major === undefined ? undefined : [Number(major), Number(minor)];
  },
  malformed: (text) =>
    badRequest(`API Version String ${text} is of invalid format. Must be of format MajorNum.MinorNum.`),
  unsupported: (text) =>
    new HttpError(
      406,
      `Version ${text} is not supported by the API. Minimum is 2.${MIN_MICROVERSION} and maximum is 2.${MAX_MICROVERSION}.`,
    ),
};

/** Returns the minor version that the headers request. The standard header wins. @throws {HttpError} 400, 406 */
export function negotiateCompute({ headers }: Pick<ServiceRequest, "headers">): number {
  return negotiate(standardVersion(headers, "compute") ?? ownVersion(headers, LEGACY_HEADER), RANGE);
}

export function versionHeaders(minor: number): Record<string, string> {
  return {
    "openstack-api-version": `compute 2.${minor}`,
    [LEGACY_HEADER]: `2.${minor}`,
    vary: "OpenStack-API-Version, X-OpenStack-Nova-API-Version",
  };
}
