import { parse } from "yaml";
import { isObject } from "../../runtime/collections.js";

/**
 * Returns the settings of a cloud of `clouds.yaml` by their `OS_` variables, for clients that only read the environment.
 * @returns undefined if the file has no such cloud
 */
export function cloudVariables(cloudsYaml: string, cloudName: string): Readonly<Record<string, string>> | undefined {
  const file: unknown = parse(cloudsYaml);
  const clouds = isObject(file) && isObject(file.clouds) ? file.clouds : {};
  const cloud = Object.hasOwn(clouds, cloudName) ? clouds[cloudName] : undefined;
  if (!isObject(cloud) || !isObject(cloud.auth)) {
    return undefined;
  }
  const { region_name, identity_api_version, auth, cacert } = cloud;
  const settings = {
    auth_type: "password",
    ...auth,
    region_name,
    identity_api_version,
    ...(cacert === undefined ? {} : { cacert }),
  };
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [`OS_${name.toUpperCase()}`, String(value)]),
  );
}

/**
 * Renders a cloud of `clouds.yaml` as shell commands.
 * @returns undefined if the file has no such cloud
 */
export function openrc(cloudsYaml: string, cloudName: string): string | undefined {
  const variables = cloudVariables(cloudsYaml, cloudName);
  if (variables === undefined) {
    return undefined;
  }
  return [
    // With OS_CLOUD set, clients prefer that cloud's settings to some of these variables.
    "unset OS_CLOUD",
    ...Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}`),
  ].join("\n");
}

/** Quotes a string for POSIX shells. */
export function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
