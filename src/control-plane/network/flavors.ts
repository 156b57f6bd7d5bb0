import { pythonRepr } from "../python/repr.js";
import { where } from "../resources/condition.js";
import type { Behaviour, NetworkContext } from "./engine/network-context.js";
import { networkError } from "./engine/network-errors.js";
import { unexpectedType } from "./engine/python-values.js";
import { findRecord, storedAttributes } from "./engine/records.js";
import {
  FLAVOR_SERVICE_PROFILES,
  FLAVORS,
  type NEXT_PROVIDERS,
  SERVICE_PROFILES,
  type ServiceProfile,
} from "./resources/flavors.js";
import { ROUTERS } from "./resources/routers.js";

/** Whether routers of a service provider are distributed and highly available, by its name. */
const ROUTER_KINDS: Readonly<Record<string, { readonly distributed: boolean; readonly ha: boolean }>> = {
  single_node: { distributed: false, ha: false },
  dvr: { distributed: true, ha: false },
  ha: { distributed: false, ha: true },
  dvrha: { distributed: true, ha: true },
};

const DRIVERS = "neutron.services.l3_router.service_providers";

/** Names of the service providers by their drivers. */
const PROVIDERS: Readonly<Record<string, string>> = {
  [`${DRIVERS}.dvrha.DvrHaDriver`]: "dvrha",
  [`${DRIVERS}.dvr.DvrDriver`]: "dvr",
  [`${DRIVERS}.ha.HaDriver`]: "ha",
  [`${DRIVERS}.single_node.SingleNodeDriver`]: "single_node",
};

export const FLAVOR_BEHAVIOUR: Behaviour<typeof FLAVORS.attributes> = {
  prepareCreate: (_context, { enabled }) => ({ enabled: enabled ?? true }),
  beforeDelete: (context, { id }) => {
    if (context.table(ROUTERS).has(where`flavor_id = ${id}`)) {
      throw networkError(409, "FlavorInUse", `Flavor ${id} is used by some service instance.`);
    }
  },
  compute: (context, flavors) => {
    const ids = JSON.stringify(flavors.map(({ id }) => id));
    const bindings = context
      .table(FLAVOR_SERVICE_PROFILES)
      .find(where`flavor_id IN (SELECT value FROM json_each(${ids}))`);
    return flavors.map(({ id }) => ({
      service_profiles: bindings
        .filter((binding) => binding.flavor_id === id)
        .map((binding) => binding.service_profile_id),
    }));
  },
};

export const SERVICE_PROFILE_BEHAVIOUR: Behaviour<typeof SERVICE_PROFILES.attributes> = {
  prepareCreate: (_context, { driver, metainfo, enabled }) => {
    assertProfile({ driver, metainfo });
    if (!driver && !metainfo) {
      throw networkError(400, "ServiceProfileEmpty", "Service Profile needs either a driver or metainfo.");
    }
    return { enabled: enabled ?? true };
  },
  prepareUpdate: (context, profile, changes) => {
    assertProfile(changes);
    assertUnused(context, profile);
    return storedAttributes(SERVICE_PROFILES, changes);
  },
  beforeDelete: assertUnused,
};

/** @throws {HttpError} 404 for an unknown driver, 400 for parameters that are no text */
function assertProfile({ driver, metainfo }: Partial<Record<"driver" | "metainfo", unknown>>): void {
  if (metainfo !== undefined && typeof metainfo !== "string") {
    throw unexpectedType();
  }
  if (driver && !Object.hasOwn(PROVIDERS, String(driver))) {
    throw driverNotFound(String(driver));
  }
}

function driverNotFound(driver: string) {
  return networkError(404, "ServiceProfileDriverNotFound", `Service Profile driver ${driver} could not be found.`);
}

function assertUnused(context: NetworkContext, { id }: ServiceProfile): void {
  if (context.table(FLAVOR_SERVICE_PROFILES).has(where`service_profile_id = ${id}`)) {
    const message = `Service Profile ${id} is used by some service instance.`;
    throw networkError(409, "ServiceProfileInUse", message);
  }
}

export const FLAVOR_SERVICE_PROFILE_BEHAVIOUR: Behaviour<typeof FLAVOR_SERVICE_PROFILES.attributes> = {
  prepareCreate: (context, { id: profileId = "", flavor_id: flavorId = "" }) => {
    findRecord(context, FLAVORS, flavorId);
    findRecord(context, SERVICE_PROFILES, profileId);
    const existing = where`flavor_id = ${flavorId} AND service_profile_id = ${profileId}`;
    if (context.table(FLAVOR_SERVICE_PROFILES).has(existing)) {
      const message = `Service Profile ${profileId} is already associated with flavor ${flavorId}.`;
      throw networkError(409, "FlavorServiceProfileBindingExists", message);
    }
    return { id: context.services.random.uuid(), service_profile_id: profileId };
  },
  compute: (_context, bindings) => bindings.map((binding) => ({ id: binding.flavor_id })),
};

/**
 * Returns why a flavor forbids attributes of a router; undefined if it allows them.
 * @throws {HttpError} 404 for a flavor without a service profile
 */
export function whyForbidden(
  context: NetworkContext,
  flavorId: string,
  requested: { readonly distributed?: boolean | null; readonly ha?: boolean | null },
): string | undefined {
  const provider = providerOf(context, flavorId);
  const kind = ROUTER_KINDS[provider];
  for (const name of ["distributed", "ha"] as const) {
    const flag = requested[name] ?? undefined;
    if (flag !== undefined && flag !== kind?.[name]) {
      return `Provider ${provider} does not support ${name}=${pythonRepr(flag)}`;
    }
  }
  return undefined;
}

/** Returns the name of the provider of a flavor's first profile. @throws {HttpError} 404, 503 */
function providerOf(context: NetworkContext, flavorId: string): string {
  const [binding] = context.table(FLAVOR_SERVICE_PROFILES).find(where`flavor_id = ${flavorId}`);
  const profile = binding && context.table(SERVICE_PROFILES).get(binding.service_profile_id);
  if (profile === undefined) {
    const message = `Service Profile  is not associated with flavor ${flavorId}.`;
    throw networkError(404, "FlavorServiceProfileBindingNotFound", message);
  }
  return readProvider(profile.driver, profile.enabled);
}

/** @throws {HttpError} 404 for an unknown driver, 503 for a disabled profile */
function readProvider(driver: string, isEnabled: boolean | null): string {
  const provider = PROVIDERS[driver];
  if (!isEnabled) {
    throw networkError(503, "ServiceProfileDisabled", "Service Profile is not enabled.");
  }
  if (provider === undefined) {
    throw driverNotFound(driver);
  }
  return provider;
}

export const NEXT_PROVIDER_BEHAVIOUR: Behaviour<typeof NEXT_PROVIDERS.attributes> = {
  compute: (_context, providers) =>
    providers.map(({ driver, enabled }) => ({ provider: readProvider(driver, enabled) })),
};
