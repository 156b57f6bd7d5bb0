import type { CloudSession } from "../../control-plane/local/cloud-session.js";
import { mapConcurrently } from "../../runtime/queue.js";

/** Why a service is disabled whose host `up` was started without. */
export const NOT_STARTED = "compute-cluster up was started without this host";

export const SERVICE_VERSION = "2.79";

export interface ServiceView {
  readonly id: string;
  readonly host: string;
  readonly state: "up" | "down";
  readonly status: "enabled" | "disabled";
  readonly disabled_reason: string | null;
  readonly forced_down: boolean;
}

/** Requests that are under way at a time. */
const AT_A_TIME = 16;

/** @param host of it alone; default: of every host */
export async function computeServices(session: CloudSession, host?: string): Promise<readonly ServiceView[]> {
  const only = host === undefined ? "" : `&host=${encodeURIComponent(host)}`;
  const path = `/os-services?binary=nova-compute${only}`;
  return ((await session.request("compute", "GET", path, SERVICE_VERSION)) as { services: ServiceView[] }).services;
}

/** A host at a time where there are few: each of a thousand that are started would else read ten thousand. */
async function servicesOf(session: CloudSession, hosts: ReadonlySet<string>): Promise<readonly ServiceView[]> {
  if (hosts.size > AT_A_TIME) {
    return (await computeServices(session)).filter(({ host }) => hosts.has(host));
  }
  return (await mapConcurrently([...hosts], AT_A_TIME, (host) => computeServices(session, host))).flat();
}

/** Has nothing more scheduled to these hosts. Leaves alone what somebody has disabled before. */
export async function disableServices(session: CloudSession, hosts: Iterable<string>): Promise<void> {
  const services = await servicesOf(session, new Set(hosts));
  const enabled = services.filter(({ status }) => status === "enabled");
  await mapConcurrently(enabled, AT_A_TIME, ({ id }) => disable(session, id, NOT_STARTED));
}

/** Takes back what {@link disableServices} has done to these hosts, and nothing else. */
export async function enableServices(session: CloudSession, hosts: Iterable<string>): Promise<void> {
  const services = await servicesOf(session, new Set(hosts));
  const disabled = services.filter(({ disabled_reason: reason }) => reason === NOT_STARTED);
  await mapConcurrently(disabled, AT_A_TIME, ({ id }) => enable(session, id));
}

export async function disable(session: CloudSession, id: string, reason: string): Promise<void> {
  await change(session, id, { status: "disabled", disabled_reason: reason });
}

export async function enable(session: CloudSession, id: string): Promise<void> {
  await change(session, id, { status: "enabled" });
}

export async function forceDown(session: CloudSession, id: string): Promise<void> {
  await change(session, id, { forced_down: true });
}

async function change(session: CloudSession, id: string, body: Readonly<Record<string, unknown>>): Promise<void> {
  await session.request("compute", "PUT", `/os-services/${id}`, SERVICE_VERSION, body);
}
