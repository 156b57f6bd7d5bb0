import type { ServiceRequest } from "../../runtime/http-server.js";
import { badRequest, HttpError } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { type MicroversionRange, negotiate } from "../http/microversions.js";

/** 3.70 is Zed's. */
const MAX_MICROVERSION = 70;

/** `GET /` and `GET /v3/` */
export function versionList(baseUrl: string): Json {
  return {
    versions: [
      {
        id: "v3.0",
        status: "CURRENT",
        version: `3.${MAX_MICROVERSION}`,
        min_version: "3.0",
        updated: "2022-08-31T00:00:00Z",
        links: [
          { rel: "describedby", type: "text/html", href: "https://docs.openstack.org/" },
          { rel: "self", href: `${baseUrl}/v3/` },
        ],
        "media-types": [{ base: "application/json", type: "application/vnd.openstack.volume+json;version=3" }],
      },
    ],
  };
}

const RANGE: MicroversionRange = {
  major: 3,
  minimum: 0,
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
      `Version ${text} is not supported by the API. Minimum is 3.0 and maximum is 3.${MAX_MICROVERSION}.`,
    ),
};

/** Returns the minor version that the headers request. @throws {HttpError} 400, 406 */
export function negotiateBlockStorage({ headers }: Pick<ServiceRequest, "headers">): number {
  return negotiate(requestedVersion(headers), RANGE);
}

/** Cinder takes the first entry whose service has `volume` in its name, such as `volumev3`. */
function requestedVersion(headers: ServiceRequest["headers"]): string | undefined {
  const entries = headers["openstack-api-version"]?.split(",") ?? [];
  const [, version] =
    entries
      .find((entry) => entry.includes("volume"))
      ?.trim()
      .split(/\s+/) ?? [];
  return version;
}

/** @param version the minor version, or the requested one if it was rejected */
export function versionHeaders(version: number | string): Readonly<Record<string, string>> {
  const text = typeof version === "number" ? `3.${version}` : version;
  return { "openstack-api-version": `volume ${text}`, vary: "OpenStack-API-Version" };
}
