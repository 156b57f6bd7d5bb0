import { CloudRequestFailed, type CloudSession } from "../../control-plane/local/cloud-session.js";

/** The microversion of the commands' requests to the Compute API. */
export const COMPUTE_VERSION = "2.79";

/** A nova-compute service of the Compute API. */
export interface ServiceView {
  readonly id: string;
  readonly host: string;
  readonly state: "up" | "down";
  readonly status: "enabled" | "disabled";
  readonly disabled_reason: string | null;
  readonly forced_down: boolean;
}

/** @param host only the service of this host; default: all services */
export async function computeServices(session: CloudSession, host?: string): Promise<readonly ServiceView[]> {
  const only = host === undefined ? "" : `&host=${encodeURIComponent(host)}`;
  const path = `/os-services?binary=nova-compute${only}`;
  return ((await session.request("compute", "GET", path, COMPUTE_VERSION)) as { services: ServiceView[] }).services;
}

export async function changeService(
  session: CloudSession,
  id: string,
  changes: Readonly<Record<string, unknown>>,
): Promise<void> {
  await session.request("compute", "PUT", `/os-services/${id}`, COMPUTE_VERSION, changes);
}

/** Returns whether the error is a response of a service with one of these statuses. */
export function hasStatus(error: unknown, ...statuses: readonly number[]): boolean {
  return error instanceof CloudRequestFailed && statuses.includes(error.status);
}
