import type { NetworkContext } from "../engine/network-context.js";
import { portGuard as assertNotOfL3, disassociateFloatingIps } from "../l3/floating-ip-associations.js";
import type { PortRecord } from "../resources/ports.js";
import { portGuard } from "../trunk/parent-port.js";

/**
 * Checks before a port is deleted, or actions of those whose records refer to it. Each may throw an `HttpError`. Deletes by
 * the service itself run those of `PORT_RELEASES` only.
 */
export type PortGuard = (context: NetworkContext, port: PortRecord) => void;

/** Checks before a user deletes a port, in their order. */
export const PORT_GUARDS: readonly PortGuard[] = [assertNotOfL3, portGuard];

/** Actions before any port is deleted. */
export const PORT_RELEASES: readonly PortGuard[] = [(context, { id }) => disassociateFloatingIps(context, id)];
