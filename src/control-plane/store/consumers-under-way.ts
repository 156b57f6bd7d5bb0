import { FINAL_MIGRATION_STATUSES } from "../../records/index.js";
import type { Sql } from "./sql.js";

const MOVES = "deleted = 0 AND status NOT IN (SELECT value FROM json_each(?2))";

/**
 * A claim comes before the record that explains it: a build's before its host, a move's before its destination. What a
 * migration holds is given back after its status says that it has ended. One statement for all: they may be thousands.
 */
const UNDER_WAY = `
SELECT value FROM json_each(?1) AS consumer
WHERE EXISTS (SELECT 1 FROM build_requests WHERE instance_uuid = consumer.value)
  OR CASE
    WHEN EXISTS (SELECT 1 FROM migrations WHERE uuid = consumer.value)
    THEN EXISTS (
      SELECT 1 FROM migrations WHERE uuid = consumer.value
        AND (status NOT IN (SELECT value FROM json_each(?2)) OR coalesce(updated_at, created_at) > ?3)
    )
    ELSE EXISTS (
      SELECT 1 FROM instances WHERE uuid = consumer.value AND deleted = 0 AND (
        task_state IS NOT NULL
        OR (vm_state = 'building' AND host IS NULL)
        OR EXISTS (SELECT 1 FROM migrations WHERE instance_uuid = consumer.value AND ${MOVES})
      )
    )
  END`;

/** The consumers whose records are about to change. @param endedAfter a migration that ended later still counts; ms */
export function consumersUnderWay(sql: Sql, consumers: readonly string[], endedAfter: number): string[] {
  return sql
    .all(UNDER_WAY, JSON.stringify(consumers), JSON.stringify(FINAL_MIGRATION_STATUSES), endedAfter)
    .map(([consumer]) => String(consumer));
}
