import type { NetworkContext } from "../engine/network-context.js";

/** Whether ports can be bound to a host: it has a live L2 agent. */
export function isHostAlive({ sql }: NetworkContext, host: string): boolean {
  return (
    sql.get("SELECT 1 FROM network_agents WHERE host = ? AND agent_type = 'Open vSwitch agent' LIMIT 1", host) !==
    undefined
  );
}
