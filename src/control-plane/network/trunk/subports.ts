import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { uniquely } from "../engine/records.js";
import type { SubPort } from "../resources/trunks.js";

/** A port belongs to one trunk at most, and a trunk has one port for each segmentation. */
export const SUBPORTS_SQL = [
  `CREATE TABLE IF NOT EXISTS network_subports (
    port_id TEXT PRIMARY KEY REFERENCES network_ports (id) ON DELETE CASCADE,
    trunk_id TEXT NOT NULL REFERENCES network_trunks (id) ON DELETE CASCADE,
    segmentation_type TEXT NOT NULL,
    segmentation_id INTEGER NOT NULL,
    UNIQUE (trunk_id, segmentation_type, segmentation_id)
  ) STRICT`,
];

/** Returns the subports of trunks by the trunks' ids, ordered by their segmentation. */
export function subPortsOf({ sql }: NetworkContext, trunkIds: readonly string[]): ReadonlyMap<string, SubPort[]> {
  const rows = sql.all(
    `SELECT trunk_id, port_id, segmentation_type, segmentation_id FROM network_subports
      WHERE trunk_id IN (SELECT value FROM json_each(?)) ORDER BY segmentation_type, segmentation_id`,
    JSON.stringify(trunkIds),
  );
  const subPorts = new Map<string, SubPort[]>();
  for (const [trunk, port, type, id] of rows) {
    const list = subPorts.get(String(trunk)) ?? [];
    list.push({ port_id: String(port), segmentation_type: String(type), segmentation_id: Number(id) });
    subPorts.set(String(trunk), list);
  }
  return subPorts;
}

/** @throws {HttpError} 409 for a segmentation that the trunk has */
export function insertSubPorts({ sql }: NetworkContext, trunkId: string, subPorts: readonly SubPort[]): void {
  for (const { port_id: port, segmentation_type: type, segmentation_id: id } of subPorts) {
    uniquely(
      () => sql.execute("INSERT INTO network_subports VALUES (?, ?, ?, ?)", port, trunkId, type, id),
      () =>
        networkError(
          409,
          "DuplicateSubPort",
          `segmentation_type ${type} and segmentation_id ${id} already in use on trunk ${trunkId}.`,
        ),
    );
  }
}

/** Returns the trunk that has a port as a subport. */
export function trunkOfSubPort({ sql }: NetworkContext, portId: string): string | undefined {
  return sql.strings("SELECT trunk_id FROM network_subports WHERE port_id = ?", portId)[0];
}
