import { integer, MAX_INTEGER, name, text } from "../../records/field.js";
import type { SqlRow } from "../database/sql.js";
import { checkOf } from "./record-fields.js";
import type { StoreContext } from "./store-context.js";

/** By resource; -1: no limit. */
export type Limits = Readonly<Record<string, number>>;

const anyName = checkOf(name);
const anyUser = checkOf(text());
const anyLimit = checkOf(integer(-1, MAX_INTEGER));

/** Tables `quotas` and `quota_classes`: explicit limits only; defaults are not stored. */
export function createQuotaTables({ sql }: StoreContext) {
  return {
    /** @param userId null: the project's own limits */
    limits: (projectId: string, userId: string | null): Limits =>
      limitsOf(
        sql.all(
          "SELECT resource, hard_limit FROM quotas WHERE project_id = ? AND user_id = ?",
          projectId,
          userId ?? "",
        ),
      ),
    /** Returns the sums of the limits of a project's users. */
    assignedToUsers: (projectId: string): Limits =>
      limitsOf(
        sql.all(
          "SELECT resource, sum(hard_limit) FROM quotas WHERE project_id = ? AND user_id <> '' GROUP BY resource",
          projectId,
        ),
      ),
    setLimit(projectId: string, userId: string | null, resource: string, limit: number): void {
      anyName(projectId, "projectId");
      anyUser(userId ?? "", "userId");
      anyLimit(limit, resource);
      sql.execute(
        `INSERT INTO quotas (project_id, user_id, resource, hard_limit) VALUES (?, ?, ?, ?)
          ON CONFLICT (project_id, user_id, resource) DO UPDATE SET hard_limit = excluded.hard_limit`,
        projectId,
        userId ?? "",
        resource,
        limit,
      );
    },
    /** Deletes the limits of a user; if `userId` is null, those of the project and all its users. */
    destroy(projectId: string, userId: string | null): void {
      if (userId === null) {
        sql.execute("DELETE FROM quotas WHERE project_id = ?", projectId);
      } else {
        sql.execute("DELETE FROM quotas WHERE project_id = ? AND user_id = ?", projectId, userId);
      }
    },
    classLimits: (className: string): Limits =>
      limitsOf(sql.all("SELECT resource, hard_limit FROM quota_classes WHERE class_name = ?", className)),
    setClassLimit(className: string, resource: string, limit: number): void {
      anyName(className, "quota_class_name");
      anyLimit(limit, resource);
      sql.execute(
        `INSERT INTO quota_classes (class_name, resource, hard_limit) VALUES (?, ?, ?)
          ON CONFLICT (class_name, resource) DO UPDATE SET hard_limit = excluded.hard_limit`,
        className,
        resource,
        limit,
      );
    },
  };
}

function limitsOf(rows: readonly SqlRow[]): Limits {
  return Object.fromEntries(rows.map(([resource, limit]) => [String(resource), Number(limit)]));
}
