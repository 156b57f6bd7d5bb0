import type { Json } from "../../http/json.js";

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

/** The range of microversions of a service whose major version is 2. */
export interface MicroversionRange {
  /** Name in the header `OpenStack-API-Version`: `compute`. */
  readonly service: string;
  /** Lower case: `x-openstack-nova-api-version`. */
  readonly legacyHeader: string;
  readonly minimum: number;
  readonly maximum: number;
}

type Negotiation =
  /** `minor` is the version to respond with. Without a header it is the minimum. */
  | { readonly kind: "agreed"; readonly minor: number }
  | { readonly kind: "malformed"; readonly version: string }
  | { readonly kind: "unsupported"; readonly version: string };

/** Returns the microversion that the headers request. The standard header wins, and in it the service's last value. */
export function negotiate(headers: Readonly<Record<string, string>>, range: MicroversionRange): Negotiation {
  const requested = standard(headers["openstack-api-version"], range.service) ?? legacy(headers[range.legacyHeader]);
  if (requested === undefined) {
    return { kind: "agreed", minor: range.minimum };
  }
  if (requested === "latest") {
    return { kind: "agreed", minor: range.maximum };
  }
  const match = /^([1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/.exec(requested);
  if (!match) {
    return { kind: "malformed", version: requested };
  }
  const minor = Number(match[2]);
  const supported = match[1] === "2" && minor >= range.minimum && minor <= range.maximum;
  return supported ? { kind: "agreed", minor } : { kind: "unsupported", version: requested };
}

function standard(header: string | undefined, service: string): string | undefined {
  const values = (header ?? "").split(",").map((value) => value.trim().split(/\s+/));
  return values.findLast(([name, version]) => name?.toLowerCase() === service && version !== undefined)?.[1];
}

function legacy(header: string | undefined): string | undefined {
  const value = header?.split(",").at(-1)?.trim();
  return value === undefined || value === "" ? undefined : value;
}
