import { parse, stringify } from "yaml";
import { isObject } from "../../runtime/collections.js";
import type { Files } from "../../runtime/files.js";
import type { Identity } from "./identity.js";
import { REGION } from "./store/bootstrap.js";

interface Cloud {
  readonly user: string;
  readonly scope: Readonly<Record<string, string>>;
}

/** Clouds of the file, each with its user and token scope. */
const CLOUDS: Readonly<Record<string, Cloud>> = {
  devstack: { user: "admin", scope: { project_name: "admin", project_domain_id: "default" } },
  "devstack-demo": { user: "demo", scope: { project_name: "demo", project_domain_id: "default" } },
  "devstack-system-admin": { user: "admin", scope: { system_scope: "all" } },
};

/** Prefix of the cloud names of a cluster file's users. */
const CLOUD_OF_USER = "devstack-";

/** Quotes every value, so that no YAML parser reads a password of digits as a number. */
const QUOTED = { defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN" } as const;

/**
 * Writes `clouds.yaml` (mode 0600) at each start of the control plane. Passwords in an existing file stay valid. If the
 * file is missing or unreadable, users get new passwords.
 * @param authUrl `http://host:port/identity/v3`
 * @param cacert path of the CA certificate for HTTPS; null uses the system's authorities
 */
export async function writeCloudsYaml(
  files: Files,
  path: string,
  identity: Pick<Identity, "ensurePassword" | "seededIdentities">,
  authUrl: string,
  cacert: string | null = null,
): Promise<void> {
  const remembered = await readPasswords(files, path);
  const theirs = identity.seededIdentities.users.map(({ name, roles }): [string, Cloud] => {
    const scope = { project_name: Object.keys(roles)[0] ?? "", project_domain_id: "default" };
    return [`${CLOUD_OF_USER}${name}`, { user: name, scope }];
  });
  const all = [...Object.entries(CLOUDS), ...theirs];
  const users = new Set(all.map(([, { user }]) => user));
  const passwords = new Map<string, string>();
  for (const user of users) {
    passwords.set(user, await identity.ensurePassword(user, remembered.get(user)));
  }
  const clouds = all.map(([name, { user, scope }]) => [
    name,
    {
      auth: { auth_url: authUrl, username: user, password: passwords.get(user), user_domain_id: "default", ...scope },
      region_name: REGION,
      identity_api_version: 3,
      ...(cacert === null ? {} : { cacert }),
    },
  ]);
  await files.write(path, stringify({ clouds: Object.fromEntries(clouds) }, QUOTED), { mode: 0o600 });
}

/** Returns the passwords in a `clouds.yaml` of {@link writeCloudsYaml}; empty if it is missing or unreadable. */
export async function readPasswords(files: Files, path: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const content = yamlObject((await files.readIfPresent(path)) ?? "");
  const clouds = isObject(content?.clouds) ? content.clouds : {};
  for (const cloud of Object.values(clouds)) {
    const auth = isObject(cloud) && isObject(cloud.auth) ? cloud.auth : {};
    const { username, password } = auth;
    if (typeof username === "string" && typeof password === "string" && !found.has(username)) {
      found.set(username, password);
    }
  }
  return found;
}

function yamlObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
