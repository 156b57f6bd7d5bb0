import type { IronicConfig } from "../config.js";
import { IronicError, isRecord } from "./ironic-error.js";

/** From the body of a token: when it ends, and where the bare-metal service is. @throws {IronicError} */
export function catalogEndpoint(
  body: string,
  { endpointOverride, regionName, validInterfaces }: IronicConfig,
): { readonly endpoint: string; readonly expiresAt: number } {
  const token = tokenIn(body);
  const expiresAt = Date.parse(String(token.expires_at));
  if (Number.isNaN(expiresAt)) {
    throw unusable(`the token ends at ${String(token.expires_at)}, which is no time`);
  }
  if (endpointOverride !== null) {
    return { endpoint: endpointOverride, expiresAt };
  }
  const services = records(token.catalog).filter(({ type }) => type === "baremetal");
  const endpoints = services
    .flatMap((service) => records(service.endpoints))
    .filter(({ region, region_id }) => regionName === null || region === regionName || region_id === regionName);
  for (const interfaceName of validInterfaces) {
    const found = endpoints.find((endpoint) => endpoint.interface === interfaceName);
    if (typeof found?.url === "string") {
      return { endpoint: found.url, expiresAt };
    }
  }
  throw unusable(
    `the catalog has no baremetal endpoint with interface ${validInterfaces.join(" or ")}` +
      `${regionName === null ? "" : ` in region ${regionName}`}; register one, or set endpoint_override in [ironic]`,
  );
}

function tokenIn(body: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(body);
    if (isRecord(parsed) && isRecord(parsed.token)) {
      return parsed.token;
    }
  } catch {
    // The error below says so.
  }
  throw unusable("there is no token in it");
}

const records = (value: unknown) => (Array.isArray(value) ? (value as unknown[]).filter(isRecord) : []);

function unusable(what: string): IronicError {
  return new IronicError("malformed", 201, `Identity's answer cannot be used: ${what}`);
}
