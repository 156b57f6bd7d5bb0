import type { ServiceResponse } from "../../../runtime/service.js";

/** 1.82: Ironic 21.4, the first with shards. */
export const MAX_MINOR = 82;
const RANGE = `[1.1, 1.${MAX_MINOR}]`;

export const VERSION_HEADER = "x-openstack-ironic-api-version";

const LIMITS = {
  "x-openstack-ironic-api-minimum-version": "1.1",
  "x-openstack-ironic-api-maximum-version": `1.${MAX_MINOR}`,
};

export function versionHeaders(minor: number): Readonly<Record<string, string>> {
  return {
    ...LIMITS,
    [VERSION_HEADER]: `1.${minor}`,
  };
}

/** The minor version that a header asks for, 1 without one; or the answer that refuses it. */
export function negotiateIronic(header: string | undefined): number | ServiceResponse {
  const requestedVersion = header?.toLowerCase() === "latest" ? `1.${MAX_MINOR}` : (header ?? "1.1");
  const [, major = "", minor = ""] = /^\s*([+-]?\d{1,9})\s*\.\s*([+-]?\d{1,9})\s*$/.exec(requestedVersion) ?? [];
  if (major === "") {
    return webError(406, "Not Acceptable", "Invalid value for X-OpenStack-Ironic-API-Version header");
  }
  const version = `${Number(major)}.${Number(minor)}`;
  if (Number(major) !== 1) {
    const text = `Mutually exclusive versions requested. Version ${version} requested but not supported by this service.`;
    return webError(406, "Not Acceptable", `${text} The supported version range is: ${RANGE}.`, LIMITS);
  }
  if (Number(minor) < 1 || Number(minor) > MAX_MINOR) {
    const text = `Version ${version} was requested but the minor version is not supported by this service.`;
    return webError(406, "Not Acceptable", `${text} The supported version range is: ${RANGE}.`, LIMITS);
  }
  return Number(minor);
}

/** An error of the framework below Ironic. */
export function webError(
  status: number,
  title: string,
  description = "",
  headers: Readonly<Record<string, string>> = {},
): ServiceResponse {
  return {
    status,
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ error_message: pythonJson({ code: status, title, description }) }),
  };
}

/** An error of Ironic's own; its text is JSON inside JSON. */
export function ironicFault(status: number, faultstring: string): ServiceResponse {
  return {
    status,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      error_message: pythonJson({ faultcode: status < 500 ? "Client" : "Server", faultstring, debuginfo: null }),
    }),
  };
}

/** With spaces after colons and commas. */
function pythonJson(fields: Readonly<Record<string, string | number | null>>): string {
  return `{${Object.entries(fields)
    .map(([name, value]) => `"${name}": ${JSON.stringify(value)}`)
    .join(", ")}}`;
}
