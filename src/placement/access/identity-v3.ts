import { asArray, asRecord } from "../json.js";
import { withoutTrailingSlash } from "./placement-access.js";

/** Where Identity v3 gives tokens. @param authUrl with or without `/v3` */
export function tokensUrl(authUrl: string): string {
  return `${withoutTrailingSlash(authUrl).replace(/\/v3$/, "")}/v3/auth/tokens`;
}

/**
 * The endpoints that a token's catalog has for a type of service.
 * @param catalog undefined: the token is scoped to nothing
 * @throws {DiscoveryFailure} when it is no catalog
 */
export function catalogEndpoints(catalog: unknown, type: string): readonly Readonly<Record<string, unknown>>[] {
  return asArray(catalog ?? [])
    .map(asRecord)
    .filter((service) => service.type === type)
    .flatMap((service) => asArray(service.endpoints ?? []).map(asRecord));
}

/** Whether the endpoint is in the region. @param region undefined: any will do */
export function isInRegion(endpoint: Readonly<Record<string, unknown>>, region: string | undefined): boolean {
  return region === undefined || endpoint.region === region || endpoint.region_id === region;
}
