import type { Conductor } from "../../conductor/port.js";
import type { NovaConfig } from "../../config/nova-config.js";
import type { Runtime } from "../../runtime/runtime.js";
import { InvalidConfiguration } from "../../virt/errors.js";
import { createConductorAccess } from "./conductor-access.js";
import { createFixedAccess } from "./fixed-access.js";
import type { DomainReference, Scope } from "./identity-v3.js";
import { createKeystoneAccess } from "./keystone-access.js";
import type { PlacementAccess } from "./placement-access.js";

/**
 * How this agent gets at Placement, from `[placement]`: as keystoneauth's options say, or by asking the conductor.
 * @throws {InvalidConfiguration} naming the option that is missing.
 */
export function placementAccess(
  config: NovaConfig,
  runtime: Pick<Runtime, "http" | "clock">,
  conductor: Conductor,
): PlacementAccess {
  return (
    configuredPlacementAccess(config, runtime) ??
    createConductorAccess({ clock: runtime.clock, ask: () => conductor.call("placement_access", {}) })
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
  const { placement } = config;
  switch (placement.authType) {
    case null:
      return null;
    case "none":
      return createFixedAccess({ endpoint: endpoint(config) });
    case "admin_token":
      return createFixedAccess({ endpoint: endpoint(config), token: needed(placement.token, "token", "admin_token") });
    case "password":
      return createKeystoneAccess(runtime, {
        authUrl: needed(placement.authUrl, "auth_url", "password"),
        username: needed(placement.username, "username", "password"),
        password: needed(placement.password, "password", "password"),
        userDomain: domain(placement.userDomainId, placement.userDomainName),
        scope: scope(config),
        validInterfaces: placement.validInterfaces,
        ...(placement.regionName === null ? {} : { regionName: placement.regionName }),
        ...(placement.endpointOverride === null ? {} : { endpointOverride: placement.endpointOverride }),
      });
  }
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
    name: needed(placement.projectName, "project_name", "password"),
    domain: domain(placement.projectDomainId, placement.projectDomainName),
  };
}

function endpoint({ placement }: NovaConfig): string {
  return needed(placement.endpointOverride ?? placement.endpoint, "endpoint", placement.authType ?? "");
}

function domain(id: string | null, name: string | null): DomainReference {
  return id !== null ? { id } : name !== null ? { name } : { id: "default" };
}

function needed(value: string | null, option: string, authType: string): string {
  if (value === null) {
    throw new InvalidConfiguration(`[placement] ${option} is unset, but auth_type = ${authType} needs it`);
  }
  return value;
}
