import type { Store } from "./store/store.js";

/** States of a server that no time changes. Others end by themselves, or may: a resize is confirmed, what was deleted softly goes. */
const LASTING = ["active", "stopped", "paused", "suspended", "rescued", "error", "shelved_offloaded"];

/** Whether a cluster that nobody uses would stay as it is, but for heartbeats, however long one waits. */
export function isAtRest({ tasks, instances, migrations, messages, database }: Store): boolean {
  const states = LASTING.map(() => "?").join(", ");
  const [changing] =
    database.get(`SELECT count(*) FROM instances WHERE deleted = 0 AND vm_state NOT IN (${states})`, ...LASTING) ?? [];
  const [nodes] = database.get("SELECT count(*) FROM ironic_nodes") ?? [];
  return (
    tasks.count() === 0 &&
    instances.busy(1).length === 0 &&
    migrations.underWay(1).length === 0 &&
    [...messages.countsByHost()].length === 0 &&
    changing === 0 &&
    // Its power and provision states are looked at all the time.
    nodes === 0
  );
}

/**
 * The heartbeats of a time that was skipped.
 * @param serves whether the agent of a host has been there all the while
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
