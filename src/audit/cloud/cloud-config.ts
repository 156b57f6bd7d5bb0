import type {
  Credentials,
  DomainReference,
  Scope,
  UserReference,
} from "../../placement-client/access/keystone-access.js";
import { AuditError } from "../errors.js";

/** A cloud's Identity endpoint, the credentials, and the endpoints to use. */
export interface CloudConfig {
  /** The name for messages: that of clouds.yaml, or `OS_* variables`. */
  readonly name: string;
  /** With or without `/v3`. */
  readonly authUrl: string;
  readonly credentials: Credentials;
  /** If absent, the credentials' own scope is used. */
  readonly scope?: Scope;
  /** `public`, `internal` or `admin`. */
  readonly interface: string;
  readonly region?: string;
  /** If absent, certificates are checked against the system's authorities. */
  readonly tls?: CloudTls;
  /** Override the catalog. */
  readonly endpoints: Readonly<Partial<Record<ServiceType, string>>>;
}

/** Paths of PEM files. */
interface CloudTls {
  /** If false, any certificate is accepted. */
  readonly verify: boolean;
  /** Replaces the system's authorities. */
  readonly cacert?: string;
  readonly cert?: string;
  readonly key?: string;
}

export type ServiceType = "compute" | "placement" | "network" | "block-storage";

/** Settings by their names in clouds.yaml, whatever their source. */
export interface Settings {
  /** The cloud's name for messages. */
  readonly name: string;
  /** Returns undefined if the setting is absent. */
  get(key: string): string | undefined;
  /** Returns the location of the key for messages, even if it is absent. */
  place(key: string): string;
}

const KINDS: Readonly<Record<string, Credentials["kind"]>> = {
  password: "password",
  v3password: "password",
  token: "token",
  v3token: "token",
  v3applicationcredential: "application_credential",
};

/** @throws {AuditError} */
export function readCloudConfig(settings: Settings): CloudConfig {
  const authUrl = required(settings, "auth_url");
  if (!/^https?:\/\/[^\s]+$/.test(authUrl)) {
    throw new AuditError(
      "CloudConfigInvalid",
      `${settings.place("auth_url")}: expected http://... or https://..., found ${authUrl}`,
    );
  }
  const kind = credentialsKind(settings);
  const scope = kind === "application_credential" ? undefined : readScope(settings);
  const region = settings.get("region_name");
  return {
    name: settings.name,
    authUrl,
    credentials: readCredentials(settings, kind),
    ...(scope ? { scope } : {}),
    interface: (settings.get("interface") ?? settings.get("endpoint_type") ?? "public").replace(/URL$/, ""),
    ...(region === undefined ? {} : { region }),
    ...readTls(settings),
    endpoints: {
      ...override(settings, "compute"),
      ...override(settings, "placement"),
      ...override(settings, "network"),
      ...override(settings, "block-storage"),
    },
  };
}

function readTls(settings: Settings): { readonly tls?: CloudTls } {
  const paths = (["cacert", "cert", "key"] as const).flatMap((key) => {
    const path = settings.get(key);
    return path === undefined ? [] : [[key, path] as const];
  });
  const verify = (flag(settings, "verify") ?? true) && !(flag(settings, "insecure") ?? false);
  return verify && paths.length === 0 ? {} : { tls: { verify, ...Object.fromEntries(paths) } };
}

/** @throws {AuditError} */
function flag(settings: Settings, key: string): boolean | undefined {
  const text = settings.get(key)?.toLowerCase();
  if (text === undefined) {
    return undefined;
  }
  if (!/^(true|yes|on|1|false|no|off|0)$/.test(text)) {
    throw new AuditError(
      "CloudConfigInvalid",
      `${settings.place(key)}: expected true or false as ${key}, found ${text}`,
    );
  }
  return /^(true|yes|on|1)$/.test(text);
}

function override(settings: Settings, service: ServiceType): CloudConfig["endpoints"] {
  const url = settings.get(`${service.replace("-", "_")}_endpoint_override`);
  return url === undefined ? {} : { [service]: url };
}

function required(settings: Settings, key: string): string {
  const value = settings.get(key);
  if (value === undefined || value === "") {
    throw new AuditError("CloudConfigInvalid", `${settings.place(key)}: ${key} is missing`);
  }
  return value;
}

/** Returns the kind of `auth_type`, or else derives it from the other settings. */
function credentialsKind(settings: Settings): Credentials["kind"] {
  const type = settings.get("auth_type");
  if (type !== undefined) {
    const kind = KINDS[type];
    if (kind === undefined) {
      const known = Object.keys(KINDS).join(", ");
      throw new AuditError(
        "CloudConfigInvalid",
        `${settings.place("auth_type")}: expected one of ${known}, found ${type}`,
      );
    }
    return kind;
  }
  if (settings.get("application_credential_secret") !== undefined) {
    return "application_credential";
  }
  return settings.get("token") !== undefined && settings.get("password") === undefined ? "token" : "password";
}

function readCredentials(settings: Settings, kind: Credentials["kind"]): Credentials {
  if (kind === "token") {
    return { kind, token: required(settings, "token") };
  }
  if (kind === "password") {
    return { kind, user: readUser(settings), password: required(settings, "password") };
  }
  const secret = required(settings, "application_credential_secret");
  const id = settings.get("application_credential_id");
  if (id !== undefined) {
    return { kind, id, secret };
  }
  const name = settings.get("application_credential_name");
  if (name === undefined) {
    throw new AuditError(
      "CloudConfigInvalid",
      `${settings.place("application_credential_id")}: application_credential_id is missing; ` +
        "application_credential_name with username and user_domain_name is an alternative",
    );
  }
  return { kind, name, user: readUser(settings), secret };
}

function readUser(settings: Settings): UserReference {
  const id = settings.get("user_id");
  if (id !== undefined) {
    return { id };
  }
  return { name: required(settings, "username"), domain: readDomain(settings, "user") };
}

/** Reads a domain. Like OpenStack's clients, uses `default` if none is named. */
function readDomain(settings: Settings, whose: "user" | "project"): DomainReference {
  const id = settings.get(`${whose}_domain_id`);
  const name = settings.get(`${whose}_domain_name`);
  if (id !== undefined) {
    return { id };
  }
  return name === undefined ? { id: settings.get("default_domain") ?? "default" } : { name };
}

function readScope(settings: Settings): Scope | undefined {
  const system = settings.get("system_scope");
  if (system !== undefined) {
    if (system !== "all") {
      throw new AuditError("CloudConfigInvalid", `${settings.place("system_scope")}: expected all, found ${system}`);
    }
    return { kind: "system" };
  }
  const id = settings.get("project_id") ?? settings.get("tenant_id");
  if (id !== undefined) {
    return { kind: "project", id };
  }
  const name = settings.get("project_name") ?? settings.get("tenant_name");
  if (name !== undefined) {
    return { kind: "project", name, domain: readDomain(settings, "project") };
  }
  const [domainId, domainName] = [settings.get("domain_id"), settings.get("domain_name")];
  if (domainId !== undefined) {
    return { kind: "domain", domain: { id: domainId } };
  }
  return domainName === undefined ? undefined : { kind: "domain", domain: { name: domainName } };
}
