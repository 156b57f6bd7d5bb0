import type { NetworkContext } from "../engine/network-context.js";
import type { SubPort } from "../resources/trunks.js";

/** The trunk of a parent port, as responses of the port show it. */
export type TrunkDetails = {
  readonly trunk_id: string;
  readonly sub_ports: readonly (SubPort & { readonly mac_address: string })[];
};

/** Returns the trunks of those ports that are parents, by the ports' ids. */
export function trunkDetailsOf({ sql }: NetworkContext, portIds: readonly string[]): ReadonlyMap<string, TrunkDetails> {
  const rows = sql.all(
    `SELECT trunk.port_id, trunk.id, subport.segmentation_id, subport.segmentation_type, port.id, port.mac_address
      FROM network_trunks AS trunk
      LEFT JOIN network_subports AS subport ON subport.trunk_id = trunk.id
      LEFT JOIN network_ports AS port ON port.id = subport.port_id
      WHERE trunk.port_id IN (SELECT value FROM json_each(?))
      ORDER BY subport.segmentation_type, subport.segmentation_id`,
    JSON.stringify(portIds),
  );
  const details = new Map<string, TrunkDetails>();
  for (const [parent, trunk, id, type, port, mac] of rows) {
    const known = details.get(String(parent))?.sub_ports ?? [];
    const subPort = {
      segmentation_id: Number(id),
      segmentation_type: String(type),
      port_id: String(port),
      mac_address: String(mac),
    };
    details.set(String(parent), { trunk_id: String(trunk), sub_ports: port === null ? known : [...known, subPort] });
  }
  return details;
}
