import type { Conductor } from "../../conductor-client/port.js";
import type { NovaConfig } from "../../config/nova-config.js";
import type { Runtime } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import { InvalidConfiguration } from "../../virt/errors.js";
import { PlacementError, type PlacementErrorCode } from "../errors.js";
import {
  createKeystoneAccess,
  type DomainReference,
  type KeystoneOptions,
  type Scope,
  type UserReference,
} from "./keystone-access.js";
import {
  CachedAccess,
  type Credentials,
  type PlacementAccess,
  type ServiceAccess,
  SharedAccess,
  withoutTrailingSlash,
} from "./placement-access.js";

/**
 * Returns the access to Placement that `[placement]` configures with keystoneauth's options, or else the access that
 * the conductor provides.
 * @throws {InvalidConfiguration} naming the option that is missing.
 */
export function placementAccess(
  config: NovaConfig,
  runtime: Pick<Runtime, "http" | "clock">,
  conductor: Conductor,
  shared = new SharedAccess(),
): PlacementAccess {
  return (
    configuredPlacementAccess(config, runtime) ??
    createConductorAccess({ clock: runtime.clock, ask: () => conductor.call("placement_access", {}), shared })
  );
}

/**
 * Returns the access that `[placement]` configures; null if its auth_type is unset.
 * @throws {InvalidConfiguration} naming the option that is missing.
 */
export function configuredPlacementAccess(
  config: NovaConfig,
  runtime: Pick<Runtime, "http" | "clock">,
): PlacementAccess | null {
  const { endpointOverride, authType, validInterfaces, regionName } = config.placement;
  const fixed = authType === "none" || authType === "admin_token";
  const endpoint = endpointOverride ?? (fixed ? config.placement.endpoint : null);
  return configuredAccess(config, runtime, {
    type: "placement",
    section: "placement",
    validInterfaces,
    ...(regionName === null ? {} : { regionName }),
    ...(endpoint === null ? {} : { endpoint }),
  });
}

/** A service that uses the credentials of `[placement]`. */
interface ConfiguredService {
  /** The type in Identity's catalog. */
  readonly type: "placement" | "image";
  /** The section of nova.conf with its endpoint. */
  readonly section: string;
  readonly validInterfaces: readonly string[];
  readonly regionName?: string;
  /** Replaces the catalog. */
  readonly endpoint?: string;
}

/**
 * Returns null if `[placement] auth_type` is unset.
 * @throws {InvalidConfiguration} naming the option that is missing.
 */
function configuredAccess(
  config: NovaConfig,
  runtime: Pick<Runtime, "http" | "clock">,
  service: ConfiguredService,
): PlacementAccess | null {
  const { placement } = config;
  switch (placement.authType) {
    case null:
      return null;
    case "none":
      return fixed(config, service);
    case "admin_token":
      return fixed(config, service, needed(placement.token, "token", "admin_token"));
    case "password":
    case "v3password":
      return keystone(config, runtime, service, {
        credentials: {
          kind: "password",
          user: user(config),
          password: needed(placement.password, "password", placement.authType),
        },
        scope: scope(config),
      });
    case "v3applicationcredential":
      return keystone(config, runtime, service, { credentials: applicationCredential(config) });
  }
}

function fixed({ placement }: NovaConfig, service: ConfiguredService, token?: string): PlacementAccess {
  const { endpoint, type, section } = service;
  if (endpoint !== undefined) {
    return createFixedAccess({ endpoint, ...(token === undefined ? {} : { token }) });
  }
  if (type === "placement") {
    throw missing("endpoint", placement.authType ?? "");
  }
  // Fails only when used: in many clouds no compute host ever reads an image.
  const none = new PlacementError(
    "EndpointNotFound",
    `[${section}] endpoint_override is unset, and there is no catalog with [placement] auth_type = ${placement.authType}`,
  );
  return { credentials: () => Promise.reject(none), expire: () => undefined };
}

function keystone(
  { placement }: NovaConfig,
  runtime: Pick<Runtime, "http" | "clock">,
  { endpoint, type, section, validInterfaces, regionName }: ConfiguredService,
  who: Pick<KeystoneOptions, "credentials" | "scope">,
): PlacementAccess {
  return createKeystoneAccess(runtime, {
    authUrl: needed(placement.authUrl, "auth_url", placement.authType ?? ""),
    discover: placement.authType === "password",
    ...who,
    service: { type, section },
    validInterfaces,
    ...(regionName === undefined ? {} : { regionName }),
    ...(endpoint === undefined ? {} : { endpointOverride: endpoint }),
  });
}

function user({ placement }: NovaConfig): UserReference {
  const { userId, username, authType, userDomainId, userDomainName } = placement;
  return userId !== null
    ? { id: userId }
    : { name: needed(username, "username", authType ?? ""), domain: domain(userDomainId, userDomainName, placement) };
}

/** An application credential includes its scope. */
function applicationCredential(config: NovaConfig): KeystoneOptions["credentials"] {
  const { authType, applicationCredentialId: id, applicationCredentialName: name } = config.placement;
  const kind = "application_credential";
  const type = authType ?? "";
  const secret = needed(config.placement.applicationCredentialSecret, "application_credential_secret", type);
  return name !== null && id === null
    ? { kind, name, user: user(config), secret }
    : { kind, id: needed(id, "application_credential_id", type), secret };
}

function scope({ placement }: NovaConfig): Scope {
  if (placement.systemScope === "all") {
    return { kind: "system" };
  }
  if (placement.projectId !== null) {
    return { kind: "project", id: placement.projectId };
  }
  return {
    kind: "project",
    name: needed(placement.projectName, "project_name", placement.authType ?? ""),
    domain: domain(placement.projectDomainId, placement.projectDomainName, placement),
  };
}

function domain(id: string | null, name: string | null, placement: NovaConfig["placement"]): DomainReference {
  const { defaultDomainId, defaultDomainName } = placement;
  if (id === null && name === null && (defaultDomainId !== null || defaultDomainName !== null)) {
    return defaultDomainId !== null ? { id: defaultDomainId } : { name: defaultDomainName ?? "" };
  }
  return id !== null ? { id } : name !== null ? { name } : { id: "default" };
}

function needed(value: string | null, option: string, authType: string): string {
  if (value === null) {
    throw missing(option, authType);
  }
  return value;
}

function missing(option: string, authType: string): InvalidConfiguration {
  return new InvalidConfiguration(`[placement] ${option} is unset, but auth_type = ${authType} needs it`);
}

/** Access with `auth_type = none` (no header) or `admin_token` (a fixed X-Auth-Token). @internal */
export function createFixedAccess(options: { readonly endpoint: string; readonly token?: string }): PlacementAccess {
  const credentials: Credentials = Object.freeze({
    endpoint: withoutTrailingSlash(options.endpoint),
    headers: options.token === undefined ? {} : { "x-auth-token": options.token },
  });
  return {
    credentials: async () => credentials,
    // There is no other token.
    expire: () => undefined,
  };
}

/**
 * Creates the access of agents without a `[placement]` section: the conductor's `placement_access` returns endpoint and
 * token.
 */
export function createConductorAccess(options: {
  readonly clock: Clock;
  readonly ask: () => Promise<ServiceAccess>;
  /** Shared among the hosts of a process that use the same service. Default: not shared. */
  readonly shared?: SharedAccess;
  /** Used instead of the conductor's endpoint. */
  readonly endpoint?: string | undefined;
  /** Code and message of the error if the conductor provides no access. Default: those for Placement. */
  readonly failure?: readonly [PlacementErrorCode, string];
}): PlacementAccess {
  const { clock, ask, shared = new SharedAccess(), failure = NO_PLACEMENT } = options;
  const obtain = async () => {
    try {
      const { endpoint, token, expiresAt } = await shared.get(clock, ask);
      const url = withoutTrailingSlash(options.endpoint ?? endpoint);
      return { endpoint: url, headers: { "x-auth-token": token }, expiresAt };
    } catch (error) {
      throw new PlacementError(...failure, undefined, { cause: error });
    }
  };
  return new CachedAccess(clock, obtain, (token) => shared.invalidate(token));
}

const NO_PLACEMENT = [
  "ConnectFailure",
  "the conductor provided no access to Placement; start it, or set auth_type in [placement]",
] as const;

const NO_IMAGE_SERVICE = [
  "EndpointNotFound",
  "the conductor provides no Image service; set [placement] auth_type and [glance]",
] as const;

const NO_BLOCK_STORAGE = ["EndpointNotFound", "the conductor provides no Block Storage service"] as const;

/**
 * Returns the access to Block Storage that the conductor provides.
 * @param instanceUuid the server whose project is to own new volumes; null: Compute's own access
 */
export function volumeAccess(
  { clock }: Pick<Runtime, "clock">,
  conductor: Pick<Conductor, "call">,
  instanceUuid: string | null,
  shared = new SharedAccess(),
): PlacementAccess {
  const ask = () => conductor.call("volume_access", { instanceUuid });
  return createConductorAccess({ clock, ask, shared, failure: NO_BLOCK_STORAGE });
}

/**
 * Returns the access to the Image service with the credentials of `[placement]`. The endpoint comes from `[glance]` or
 * from Identity's catalog. Without credentials, the conductor provides both. A missing service is reported when an
 * image is requested.
 */
export function imageAccess(
  config: NovaConfig,
  runtime: Pick<Runtime, "http" | "clock">,
  conductor: Pick<Conductor, "call">,
  shared = new SharedAccess(),
): PlacementAccess {
  const { endpointOverride, apiServers, validInterfaces, regionName } = config.glance;
  const endpoint = endpointOverride ?? apiServers[0];
  const service: ConfiguredService = {
    type: "image",
    section: "glance",
    validInterfaces,
    ...(regionName === null ? {} : { regionName }),
    ...(endpoint === undefined ? {} : { endpoint }),
  };
  const ask = () => conductor.call("image_access", {});
  return (
    configuredAccess(config, runtime, service) ??
    createConductorAccess({ clock: runtime.clock, ask, shared, endpoint, failure: NO_IMAGE_SERVICE })
  );
}
