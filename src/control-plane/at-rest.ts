import type { Store } from "./store/store.js";

/** Server states that never change on their own. Others can: a resize is confirmed, a soft-deleted server is reclaimed. */
const LASTING = ["active", "stopped", "paused", "suspended", "rescued", "error", "shelved_offloaded"];

/** Returns true if an unused cluster would never change, apart from heartbeats. */
export function isAtRest({ tasks, instances, migrations, messages, database }: Store): boolean {
  const states = LASTING.map(() => "?").join(", ");
  const changing = `SELECT count(*) FROM instances WHERE deleted = 0 AND vm_state NOT IN (${states})`;
  return (
    tasks.count() === 0 &&
    instances.busy(1).length === 0 &&
    migrations.underWay(1).length === 0 &&
    [...messages.countsByHost()].length === 0 &&
    database.number(changing, ...LASTING) === 0 &&
    // Bare-metal nodes are polled constantly for power and provision state.
    database.number("SELECT count(*) FROM ironic_nodes") === 0
  );
}

/**
 * Stores the heartbeats of a skipped period.
 * @param serves returns true if the host's agent was connected for the entire period
 */
export function reportAll({ services, transaction }: Store, serves: (host: string) => boolean): void {
  transaction(() => {
    for (const { id, binary, host } of services.list()) {
      if (binary !== "nova-compute" || serves(host)) {
        services.reportState(id);
      }
    }
  });
}
