import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { eventually, type Json } from "../../process/support/cloud.js";
import type { Program } from "../../process/support/program.js";
import { OC_HOSTS, ocOptions } from "./oc-hosts.js";
import type { RealNova } from "./real-nova.js";

interface FinishedEvent {
  readonly event: string;
  readonly result: string;
  readonly host: string;
}

/** Milliseconds to wait for a server's status. The error then contains all of the API's data on the server. */
const STATUS_TIMEOUT_MS = 120_000;

/** Waits until the server has this status and no task is running. */
export async function idle({ operator }: RealNova, server: string, status: string): Promise<Json> {
  const until = performance.now() + STATUS_TIMEOUT_MS;
  const isThere = (now: Json) => String(now.status) === status && String(now["OS-EXT-STS:task_state"]) === "null";
  const found = await eventually(
    () => operator.server(server),
    (now) => isThere(now) || String(now.status) === "ERROR" || performance.now() > until,
  );
  if (!isThere(found)) {
    const migrations = await operator.migrations(server);
    throw new Error(`${server} is to be ${status}, and is ${JSON.stringify({ ...found, migrations })}`);
  }
  return found;
}

/**
 * Returns the events of nova-computes in the server's newest action, once all have ended. The conductor has some of its
 * own.
 */
export async function newestEvents(nova: RealNova, server: string): Promise<readonly FinishedEvent[]> {
  const path = `/servers/${server}/os-instance-actions`;
  const events = await eventually(
    async () => {
      const list = Object.values((await nova.compute("GET", path)).body.instanceActions ?? {});
      const { body } = await nova.compute("GET", `${path}/${list[0]?.request_id}`);
      return Object.values(body.instanceAction?.events ?? {}).filter(({ event }) => /^compute_/.test(String(event)));
    },
    (found) => found.length > 0 && found.every(({ result }) => String(result) !== "null"),
  );
  return events
    .toSorted((a, b) => String(a.start_time).localeCompare(String(b.start_time)))
    .map(({ event, result, host }) => ({ event: String(event), result: String(result), host: String(host) }));
}

/**
 * Returns the hosts on which the build was attempted, sorted by name since events of one second have no order. Nova
 * records the end of each attempt in the event of the first, so results are meaningless.
 */
export async function hostsTried(nova: RealNova, server: string): Promise<string[]> {
  const path = `/servers/${server}/os-instance-actions`;
  const actions = Object.values((await nova.compute("GET", path)).body.instanceActions ?? {});
  const create = actions.find(({ action }) => String(action) === "create");
  const { body } = await nova.compute("GET", `${path}/${create?.request_id}`);
  return Object.values(body.instanceAction?.events ?? {})
    .filter(({ event }) => String(event).includes("build_and_run"))
    .map(({ host }) => String(host))
    .toSorted();
}

/** Returns a host's allocations by consumer. */
export async function allocationsOn(nova: RealNova, host: string): Promise<Json> {
  const { uuid } = await nova.operator.provider(host);
  const { body } = await nova.placement("GET", `/resource_providers/${uuid}/allocations`);
  return body.allocations ?? {};
}

/** Limits parallel calls to what two processes of nova-api can handle. */
export async function inBatches<T, R>(items: readonly T[], act: (item: T, index: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  const worker = async () => {
    for (const [index, item] of waiting) {
      results[index] = await act(item, index);
    }
  };
  await Promise.all(Array.from({ length: 4 }, worker));
  return results;
}

/**
 * Waits until no task of the server is running. An operation that the outage has interrupted between two messages is
 * fixed when its hosts restart, as with Nova's own.
 */
export async function settles(nova: RealNova, agents: Map<string, Program>, id: string) {
  const until = performance.now() + 70_000;
  const settled = await eventually(
    () => nova.operator.server(id),
    (server) => isSettled(server) || performance.now() > until,
  );
  if (isSettled(settled)) {
    return settled;
  }
  for (const host of OC_HOSTS) {
    await agents.get(host)?.kill();
    agents.set(host, await nova.startAgent(host, { options: ocOptions(host) }));
  }
  return eventually(() => nova.operator.server(id), isSettled);
}

export function isSettled(server: Readonly<Record<string, unknown>>): boolean {
  return server.status !== "BUILD" && server["OS-EXT-STS:task_state"] === null;
}

/** Milliseconds that three parallel starts of Node take on an idle machine. */
const STARTS_OF_NODE = 70;

/** Scales a duration by how much slower this machine currently is than an idle one. */
export async function onThisMachine(milliseconds: number): Promise<number> {
  const started = performance.now();
  await Promise.all([1, 2, 3].map(() => promisify(execFile)(process.execPath, ["--eval", "0"])));
  return Math.max(milliseconds, (milliseconds * (performance.now() - started)) / STARTS_OF_NODE);
}
