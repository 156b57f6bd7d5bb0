import { parse, stringify } from "yaml";
import type { Files } from "../../runtime/files.js";
import { isObject } from "../http/json.js";
import { REGION } from "./catalog.js";
import { LOGIN_USERS, type LoginUser } from "./directory.js";
import type { Identity } from "./identity.js";

/** Clouds of the file: a user, and what its tokens are for. */
const CLOUDS = {
  devstack: { user: "admin", scope: { project_name: "admin", project_domain_id: "default" } },
  "devstack-demo": { user: "demo", scope: { project_name: "demo", project_domain_id: "default" } },
  "devstack-system-admin": { user: "admin", scope: { system_scope: "all" } },
} as const satisfies Record<string, { readonly user: LoginUser; readonly scope: Readonly<Record<string, string>> }>;

/** Each value in quotes: no reader takes a password of digits for a number. */
const QUOTED = { defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN" } as const;

/**
 * Writes `clouds.yaml` (mode 0600) for the clients at each start of the control plane. Passwords that the file already
 * holds stay valid; where it is absent or unreadable, new ones take their place.
 * @param authUrl `http://host:port/identity/v3`
 * @param cacert path of the certificate that HTTPS is checked by; null: the system's authorities
 */
export async function writeCloudsYaml(
  files: Files,
  path: string,
  identity: Pick<Identity, "ensurePassword">,
  authUrl: string,
  cacert: string | null = null,
): Promise<void> {
  const remembered = await readPasswords(files, path);
  const passwords = new Map(LOGIN_USERS.map((user) => [user, identity.ensurePassword(user, remembered.get(user))]));
  const clouds = Object.entries(CLOUDS).map(([name, { user, scope }]) => [
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

/** The passwords that a `clouds.yaml` of {@link writeCloudsYaml} holds; empty when there is none that can be read. */
export async function readPasswords(files: Files, path: string): Promise<ReadonlyMap<LoginUser, string>> {
  const found = new Map<LoginUser, string>();
  const content = yamlObject((await files.readIfPresent(path)) ?? "");
  const clouds = isObject(content?.clouds) ? content.clouds : {};
  for (const [name, { user }] of Object.entries(CLOUDS)) {
    const cloud = clouds[name];
    const auth = isObject(cloud) && isObject(cloud.auth) ? cloud.auth : {};
    if (typeof auth.password === "string" && !found.has(user)) {
      found.set(user, auth.password);
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
