import { SERVICE_VERSION } from "../../records/index.js";
import type { Runtime } from "../../runtime/runtime.js";
import type { CancelTimer } from "../../runtime/time.js";
import type { Store } from "../store/store.js";

/** Services of a control plane besides its APIs, in the order in which Nova registers them. */
const OWN = [
  { binary: "nova-scheduler", topic: "scheduler" },
  { binary: "nova-conductor", topic: "conductor" },
];

/** Milliseconds from joining the service group to the first heartbeat, as for agents. */
const FIRST_HEARTBEAT_DELAY = 5_000;

/**
 * Registers the control plane's own rows in `compute service list`, with the same heartbeats as agents (spec 1.2, 2.5). A
 * deleted row is only created again at the next start.
 * @param options.reportInterval `[DEFAULT] report_interval`, seconds
 * @throws {ServiceTooOld}
 */
export function registerOwnServices(options: {
  readonly store: Store;
  readonly host: string;
  readonly runtime: Pick<Runtime, "timers" | "logger">;
  readonly reportInterval: number;
}) {
  const { store, host, runtime, reportInterval } = options;
  /** Row ids, with false if the last heartbeat could not be stored. */
  const arrivals = store.transaction(() => new Map(OWN.map((own) => [register(store, { ...own, host }), true])));
  let cancel: CancelTimer = () => undefined;
  return {
    start(): void {
      cancel = runtime.timers.after(FIRST_HEARTBEAT_DELAY, beat);
    },
    stop: () => cancel(),
  };

  function beat(): void {
    for (const [id, arrived] of arrivals) {
      try {
        store.services.reportState(id);
        arrivals.set(id, true);
      } catch (err) {
        // Logged once, since further heartbeats may fail as well.
        if (arrived) {
          runtime.logger.error("heartbeat of a control plane service could not be stored; retrying at the next one", {
            id,
            err,
          });
        }
        arrivals.set(id, false);
      }
    }
    cancel = runtime.timers.after(reportInterval * 1000, beat);
  }
}

/** Creates the row or updates its version. @returns its id */
function register(
  { services }: Store,
  own: { readonly host: string; readonly binary: string; readonly topic: string },
): number {
  const known = services.getByHost(own.host, own.binary);
  if (known === null) {
    return services.create({ ...own, version: SERVICE_VERSION }).id;
  }
  if (known.version !== SERVICE_VERSION) {
    services.update(known.id, { version: SERVICE_VERSION });
  }
  return known.id;
}
