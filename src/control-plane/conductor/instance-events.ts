import type { AgentMethods } from "../../conductor-client/methods/agent.js";
import type { ParamsOf } from "../../conductor-client/methods/method.js";
import { FINAL_MIGRATION_STATUSES, type Instance } from "../../records/index.js";
import type { Store } from "../store/store.js";
import type { AgentBus } from "./agent-messages.js";

type InstanceEvents = ParamsOf<AgentMethods, "external_instance_event">["events"];

/** The hosts that have a part in an instance: its own, and those of its unfinished move. */
export function hostsOf(store: Store, { uuid, host }: Instance): readonly string[] {
  const moves = store.migrations
    .byFilters({ instanceUuid: uuid })
    .filter(({ status }) => !FINAL_MIGRATION_STATUSES.includes(status));
  const hosts = [host, ...moves.flatMap(({ sourceCompute, destCompute }) => [sourceCompute, destCompute])];
  return [...new Set(hosts.filter((one) => one !== null))];
}

/** Tells each of them, as Nova's `external_instance_event`. */
export function sendInstanceEvents(
  { store, bus }: { readonly store: Store; readonly bus: Pick<AgentBus, "cast"> },
  instance: Instance,
  events: InstanceEvents,
  requestId: string,
): void {
  for (const host of hostsOf(store, instance)) {
    bus.cast(host, "external_instance_event", { instanceUuid: instance.uuid, events: [...events] }, requestId);
  }
}
