import { eventually, type Json } from "../../process/support/cloud.js";
import type { RealNova } from "./real-nova.js";

interface FinishedEvent {
  readonly event: string;
  readonly result: string;
  readonly host: string;
}

/** Waits until the server is in this status and nothing is done to it. */
export async function idle({ operator }: RealNova, server: string, status: string): Promise<Json> {
  const found = await eventually(
    () => operator.server(server),
    (now) =>
      (String(now.status) === status && String(now["OS-EXT-STS:task_state"]) === "null") ||
      (String(now.status) === "ERROR" && status !== "ERROR"),
  );
  if (String(found.status) !== status) {
    throw new Error(`${server} is ${found.status}: ${JSON.stringify(found.fault)}`);
  }
  return found;
}

/** The events of nova-computes in the server's newest action, once each has ended; the conductor has some of its own. */
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

/** Where the server's build was tried. Nova writes the end of each try into the event of the first, so results say nothing. */
export async function hostsTried(nova: RealNova, server: string): Promise<string[]> {
  const path = `/servers/${server}/os-instance-actions`;
  const actions = Object.values((await nova.compute("GET", path)).body.instanceActions ?? {});
  const create = actions.find(({ action }) => String(action) === "create");
  const { body } = await nova.compute("GET", `${path}/${create?.request_id}`);
  return Object.values(body.instanceAction?.events ?? {})
    .filter(({ event }) => String(event).includes("build_and_run"))
    .toSorted((a, b) => String(a.start_time).localeCompare(String(b.start_time)))
    .map(({ host }) => String(host));
}

/** Consumer → what it holds of a host's provider. */
export async function allocationsOn(nova: RealNova, host: string): Promise<Json> {
  const { uuid } = await nova.operator.provider(host);
  const { body } = await nova.placement("GET", `/resource_providers/${uuid}/allocations`);
  return body.allocations ?? {};
}

/** Few enough at once for two processes of nova-api. */
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
