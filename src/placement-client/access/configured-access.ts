import type { Conductor } from "../../conductor-client/port.js";
import type { NovaConfig } from "../../config/nova-config.js";
import type { Runtime } from "../../runtime/runtime.js";
import { InvalidConfiguration } from "../../virt/errors.js";
import { EndpointNotFound } from "../errors.js";
import { createConductorAccess } from "./conductor-access.js";
import { createFixedAccess } from "./fixed-access.js";
import type { DomainReference, Scope, UserReference } from "./identity-v3.js";
import { createKeystoneAccess, type KeystoneOptions } from "./keystone-access.js";
import type { PlacementAccess } from "./placement-access.js";
import { SharedAccess } from "./shared-access.js";

/**
 * How this agent gets at Placement, from `[placement]`: as keystoneauth's options say, or by asking the conductor.
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
 * What `[placement]` says; null when its auth_type is unset.
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

/** A service that is asked with the credentials of `[placement]`. */
export interface ConfiguredService {
  /** In Identity's catalog. */
  readonly type: "placement" | "image";
  /** The section of nova.conf that has its endpoint. */
  readonly section: string;
  readonly validInterfaces: readonly string[];
  readonly regionName?: string;
  /** Instead of the catalog. */
  readonly endpoint?: string;
}

/**
 * Null: `[placement] auth_type` is unset.
 * @throws {InvalidConfiguration} naming the option that is missing.
 */
export function configuredAccess(
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
  // Many clouds' computes never ask for an image.
  const none = new EndpointNotFound(
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

/** It brings its scope along. */
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
