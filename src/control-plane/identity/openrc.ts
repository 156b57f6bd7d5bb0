import { parse } from "yaml";
import { isObject } from "../../runtime/collections.js";

/**
 * Shell text that says what a cloud of `clouds.yaml` says, for clients that only read the environment.
 * @returns undefined: the file has no such cloud
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
    // What a named cloud says would win over some of these.
    "unset OS_CLOUD",
    ...Object.entries(variables).map(([name, value]) => `export OS_${name.toUpperCase()}=${quoted(String(value))}`),
  ].join("\n");
}

/** For POSIX shells. */
export function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
