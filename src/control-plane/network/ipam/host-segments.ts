import type { NetworkContext } from "../engine/network-context.js";

/** Returns the segments of a network that an agent of the host is connected to, by the mappings of its bridges. */
export function segmentsOfHost({ sql }: NetworkContext, networkId: string, host: string): ReadonlySet<string> {
  return new Set(
    sql.strings(
      `SELECT id FROM network_segments AS segment WHERE network_id = ? AND EXISTS (
        SELECT 1 FROM network_agents AS agent, json_each(agent.configurations, '$.bridge_mappings') AS mapping
        WHERE agent.host = ? AND mapping.key = segment.physical_network)`,
      networkId,
      host,
    ),
  );
}
