import { eventually, type Json } from "../../process/support/cloud.js";
import type { RealNova } from "./real-nova.js";

interface FinishedAction {
  readonly action: string;
  readonly events: readonly { readonly event: string; readonly result: string; readonly host: string }[];
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

/** The server's newest action once each of its events has ended, oldest event first. */
export async function newestAction(nova: RealNova, server: string): Promise<FinishedAction> {
  const path = `/servers/${server}/os-instance-actions`;
  const { action, events } = await eventually(
    async () => {
      const list = Object.values((await nova.compute("GET", path)).body.instanceActions ?? {});
      const { body } = await nova.compute("GET", `${path}/${list[0]?.request_id}`);
      const found = body.instanceAction;
      return { action: String(found?.action), events: Object.values(found?.events ?? {}) };
    },
    (found) => found.events.length > 0 && found.events.every(({ result }) => String(result) !== "null"),
  );
  const shown = events
    .toSorted((a, b) => String(a.start_time).localeCompare(String(b.start_time)))
    .map(({ event, result, host }) => ({ event: String(event), result: String(result), host: String(host) }));
  return { action, events: shown };
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
