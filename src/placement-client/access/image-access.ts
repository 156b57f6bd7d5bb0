import type { Conductor } from "../../conductor-client/port.js";
import type { NovaConfig } from "../../config/nova-config.js";
import type { Runtime } from "../../runtime/runtime.js";
import { EndpointNotFound } from "../errors.js";
import { CachedAccess } from "./cached-access.js";
import { type ConfiguredService, configuredAccess } from "./configured-access.js";
import { type PlacementAccess, withoutTrailingSlash } from "./placement-access.js";
import { SharedAccess } from "./shared-access.js";

/**
 * How this agent gets at the Image service: where `[glance]` says or Identity's catalog, with the credentials of `[placement]`; or
 * both by asking the conductor. That there is none is found when an image is asked for.
 */
export function imageAccess(
  config: NovaConfig,
  runtime: Pick<Runtime, "http" | "clock">,
  conductor: Pick<Conductor, "call">,
  shared = new SharedAccess(),
): PlacementAccess {
  const { endpointOverride, apiServers, validInterfaces, regionName } = config.glance;
  const configuredEndpoint = endpointOverride ?? apiServers[0];
  const service: ConfiguredService = {
    type: "image",
    section: "glance",
    validInterfaces,
    ...(regionName === null ? {} : { regionName }),
    ...(configuredEndpoint === undefined ? {} : { endpoint: configuredEndpoint }),
  };
  const obtain = async () => {
    try {
      const ask = () => conductor.call("image_access", {});
      const { endpoint, token, expiresAt } = await shared.get(runtime.clock, ask);
      const url = withoutTrailingSlash(configuredEndpoint ?? endpoint);
      return { endpoint: url, headers: { "x-auth-token": token }, expiresAt };
    } catch (error) {
      throw new EndpointNotFound(
        "the conductor names no Image service; set [placement] auth_type and [glance]",
        undefined,
        { cause: error },
      );
    }
  };
  return (
    configuredAccess(config, runtime, service) ??
    new CachedAccess(runtime.clock, obtain, (token) => shared.invalidate(token))
  );
}
