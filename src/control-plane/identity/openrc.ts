import { parse } from "yaml";
import { isObject } from "../../runtime/collections.js";

/**
 * Renders a cloud of `clouds.yaml` as shell commands, for clients that only read the environment.
 * @returns undefined if the file has no such cloud
 */
export function openrc(cloudsYaml: string, cloudName: string): string | undefined {
  const file: unknown = parse(cloudsYaml);
  const clouds = isObject(file) && isObject(file.clouds) ? file.clouds : {};
  const cloud = Object.hasOwn(clouds, cloudName) ? clouds[cloudName] : undefined;
  if (!isObject(cloud) || !isObject(cloud.auth)) {
    return undefined;
  }
  const { region_name, identity_api_version, auth, cacert } = cloud;
  const variables = {
    auth_type: "password",
    ...auth,
    region_name,
    identity_api_version,
    ...(cacert === undefined ? {} : { cacert }),
  };
  return [
    // With OS_CLOUD set, clients prefer that cloud's settings to some of these variables.
    "unset OS_CLOUD",
    ...Object.entries(variables).map(([name, value]) => `export OS_${name.toUpperCase()}=${quoted(String(value))}`),
  ].join("\n");
}

/** Quotes a string for POSIX shells. */
export function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
