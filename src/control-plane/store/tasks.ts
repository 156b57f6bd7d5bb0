import { anyObject, type Field, id, oneOf, type RecordOf, text, time, uuid } from "../../records/field.js";
import type { DestinationFailure, Flavor, RetryInfo, Selection } from "../../records/index.js";
import type { BlockStorageWork } from "../block-storage/engine/block-storage-context.js";
import type { RequestedServerPort } from "../network/server-ports.js";
import { checkOf } from "./record-fields.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

/**
 * A task that the API, or an agent, has submitted to the conductor. It is stored in the transaction that acknowledges
 * the request, and deleted in the one that finishes it.
 * `kill -9` therefore loses no task; each kind can run again from the start.
 */
export type Task =
  /** Spec 6.1 rows 2-4; `alternates` absent: the scheduler selects hosts. */
  | {
      readonly kind: "build_instances";
      readonly instanceUuid: string;
      readonly requestId: string;
      /** `zone:host:node`: used without the scheduler's filters, with no alternative. */
      readonly forcedHost?: string;
      readonly forcedNode?: string;
      /** API 2.74: only this host, if it passes the filters. */
      readonly requestedHost?: string;
      readonly requestedNode?: string;
      /** The requested ports, and the security groups (uuids) of new ports; absent: none. */
      readonly ports?: readonly RequestedServerPort[];
      readonly securityGroups?: readonly string[];
      readonly alternates?: readonly Selection[];
      readonly retry?: RetryInfo;
      readonly reason?: string;
    }
  /** Spec 6.7 rows 2a, 2b. */
  | {
      readonly kind: "rebuild_instance";
      readonly instanceUuid: string;
      readonly migrationId: number;
      readonly requestId: string;
      readonly host: string | null;
      /** API 2.29 to 2.67 with `force`. */
      readonly forced: boolean;
      readonly onSharedStorage: boolean | null;
      readonly targetStopped: boolean;
    }
  /** Spec 6.6: a rebuild from an image whose requirements the server's host may not meet. */
  | {
      readonly kind: "rebuild_in_place";
      readonly instanceUuid: string;
      readonly requestId: string;
      /** The previous image and its properties, to which a rejected rebuild returns. */
      readonly previousImageRef: string;
      readonly previousProperties: Readonly<Record<string, string>>;
      /** The image with which the boot volume is reimaged; absent: none. */
      readonly reimagedWith?: string;
    }
  /** Spec 6.3 rows 2, 3; `alternates` absent: the scheduler selects hosts. */
  | {
      readonly kind: "migrate_server";
      readonly instanceUuid: string;
      readonly requestId: string;
      /** The new flavor: its id distinguishes a resize from a cold migration. */
      readonly flavor: Flavor;
      /** Requested by the operator (2.56); then there is no reschedule. */
      readonly host: string | null;
      /** Set by a reschedule. */
      readonly migrationId?: number;
      readonly alternates?: readonly Selection[];
      readonly retry?: RetryInfo;
      readonly failure?: DestinationFailure;
    }
  /** Spec 6.5 rows 2-4f. */
  | {
      readonly kind: "live_migrate_instance";
      readonly instanceUuid: string;
      readonly requestId: string;
      readonly host: string | null;
      /** API up to 2.67: set by `force` (2.30); before 2.30, by any requested host. */
      readonly forced: boolean;
      /** The requested block migration; null for `auto` (2.25). */
      readonly blockMigration: boolean | null;
      readonly diskOverCommit: boolean;
    }
  /** Spec 6.6. */
  | {
      readonly kind: "unshelve_instance";
      readonly instanceUuid: string;
      readonly requestId: string;
      /** API 2.91. */
      readonly host: string | null;
    }
  /** Spec 6.2, row "vm resized": confirmed on the source first. */
  | {
      readonly kind: "delete_resized";
      readonly instanceUuid: string;
      readonly migrationId: number;
      readonly requestId: string;
    }
  /** Spec 6.2, rows "local delete" and "no host". */
  | { readonly kind: "delete_local"; readonly instanceUuid: string; readonly requestId: string }
  /** Work of the Block Storage service. */
  | {
      readonly kind: "block_storage";
      /** The id of the record: work on one record runs in order. */
      readonly instanceUuid: string;
      readonly requestId: string;
      readonly work: string;
      readonly input: BlockStorageWork["input"];
    };

export const TASK_KINDS: readonly Task["kind"][] = [
  "build_instances",
  "rebuild_instance",
  "rebuild_in_place",
  "migrate_server",
  "live_migrate_instance",
  "unshelve_instance",
  "delete_resized",
  "delete_local",
  "block_storage",
];

/** The fields that all tasks have. */
const HEAD = { kind: oneOf(TASK_KINDS), instanceUuid: uuid, requestId: text() };

const head = Object.entries(HEAD).map(([field, schema]) => [field, checkOf(schema)] as const);

const STORED_TASK = { id, task: anyObject as unknown as Field<Task>, createdAt: time };

export type StoredTask = RecordOf<typeof STORED_TASK>;

const TASKS = tableOf("tasks", STORED_TASK);

/** Table `tasks`: the pending tasks of the conductor, oldest first. */
export function createTaskQueue({ sql, clock, changes }: StoreContext) {
  const table = new Table(sql, TASKS);

  return {
    add(task: Task): StoredTask {
      for (const [field, check] of head) {
        check(new Map<string, unknown>(Object.entries(task)).get(field), `task.${field}`);
      }
      return sql.transaction(() => {
        const createdAt = clock.now();
        const id = table.insert({ task, createdAt });
        changes.changed("task", id);
        return { id, task, createdAt };
      });
    },
    /** @param after only tasks with a greater id */
    pending: (after = 0): StoredTask[] => table.many("id > ? ORDER BY id", after),
    /** Returns the pending tasks of an instance. */
    ofInstance: (instanceUuid: string): StoredTask[] =>
      table.many("json_extract(task, '$.instanceUuid') = ? ORDER BY id", instanceUuid),
    count: (): number => sql.number("SELECT count(*) FROM tasks"),
    /** Counts the ports that will be created for requested servers of a project that have no host yet. */
    countRequestedPorts: (projectId: string): number =>
      sql.number(
        `SELECT count(*) FROM build_requests AS request
          JOIN tasks ON json_extract(task, '$.instanceUuid') = request.instance_uuid,
          json_each(task, '$.ports') AS requested
          WHERE request.project_id = ? AND json_extract(task, '$.kind') = 'build_instances'
          AND json_extract(requested.value, '$.port') IS NULL`,
        projectId,
      ),
    finish: (id: number): void => sql.execute("DELETE FROM tasks WHERE id = ?", id),
  };
}
