import type { Sql } from "../../database/sql.js";
import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { NETWORK_SEGMENT_RANGES, SEGMENTS } from "../resources/segments.js";

/** The first and the last id of a range. */
type IdRange = readonly [first: number, last: number];

/** A pool of ids: those of a network type, and of one physical network if the type is VLAN. */
export interface IdPool {
  readonly networkType: string;
  readonly physicalNetwork: string | null;
}

/** Returns the physical networks that have ranges of VLAN ids. */
export function vlanNetworks(context: NetworkContext): readonly string[] {
  const ranges = context.table(NETWORK_SEGMENT_RANGES).find(where`network_type = ${"vlan"}`);
  return [...new Set(ranges.flatMap(({ physical_network: name }) => name ?? []))];
}

/** Returns the lowest free id that a project may use; undefined if there is none. Ranges of the project go first. */
export function findFreeId(context: NetworkContext, pool: IdPool, projectId: string): number | undefined {
  const { networkType, physicalNetwork } = pool;
  const ranges = context
    .table(NETWORK_SEGMENT_RANGES)
    .find(where`network_type = ${networkType} AND physical_network IS ${physicalNetwork}`);
  const reserved = ranges.filter(({ shared }) => !shared);
  const own = reserved.filter(({ project_id: owner }) => owner === projectId).map(toRange);
  const common = ranges.filter(({ shared }) => shared).map(toRange);
  for (const range of [...own, ...exclude(common, reserved.map(toRange))]) {
    const free = lowestFree(context.sql, pool, range);
    if (free !== undefined) {
      return free;
    }
  }
  return undefined;
}

export function isIdInUse({ sql }: NetworkContext, { networkType, physicalNetwork }: IdPool, id: number | null) {
  return (
    sql.get(
      `SELECT 1 FROM ${SEGMENTS.table} WHERE network_type = ? AND physical_network IS ? AND segmentation_id IS ? LIMIT 1`,
      networkType,
      physicalNetwork,
      id,
    ) !== undefined
  );
}

function lowestFree(sql: Sql, { networkType, physicalNetwork }: IdPool, [first, last]: IdRange): number | undefined {
  const used = `FROM ${SEGMENTS.table} AS used
    WHERE used.network_type = ? AND used.physical_network IS ? AND used.segmentation_id BETWEEN ? AND ?`;
  const [highest] =
    sql.get(`SELECT max(used.segmentation_id) ${used}`, networkType, physicalNetwork, first, last) ?? [];
  if (typeof highest !== "number") {
    return first;
  }
  if (highest < last) {
    return highest + 1;
  }
  const [lowest] = sql.get(`SELECT min(used.segmentation_id) ${used}`, networkType, physicalNetwork, first, last) ?? [];
  if (typeof lowest === "number" && lowest > first) {
    return first;
  }
  const [gap] =
    sql.get(
      `SELECT min(used.segmentation_id) + 1 ${used} AND NOT EXISTS (
        SELECT 1 FROM ${SEGMENTS.table} AS next WHERE next.network_type = used.network_type
        AND next.physical_network IS used.physical_network AND next.segmentation_id = used.segmentation_id + 1)`,
      networkType,
      physicalNetwork,
      first,
      last - 1,
    ) ?? [];
  return typeof gap === "number" ? gap : undefined;
}

function toRange({ minimum, maximum }: { readonly minimum: number; readonly maximum: number }): IdRange {
  return [minimum, maximum];
}

/** Returns the parts of ranges that are in none of the excluded ones. */
function exclude(ranges: readonly IdRange[], excluded: readonly IdRange[]): readonly IdRange[] {
  return excluded.reduce<readonly IdRange[]>(
    (remaining, [from, to]) =>
      remaining.flatMap(([first, last]): readonly IdRange[] =>
        to < first || from > last
          ? [[first, last] as const]
          : [[first, from - 1] as const, [to + 1, last] as const].filter(([start, end]) => start <= end),
      ),
    ranges,
  );
}
