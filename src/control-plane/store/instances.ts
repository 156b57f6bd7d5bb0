import { ConductorError } from "../../conductor-client/errors.js";
import {
  holdsTask,
  INSTANCE,
  INSTANCE_FAULT,
  type Instance,
  type InstanceChanges,
  type InstanceFault,
  type NewInstance,
  newInstance,
  type TaskState,
  type VmState,
} from "../../records/index.js";
import { createInstanceQueries } from "./instance-queries.js";
import { rejectField, type SqlValue } from "./record-fields.js";
import { availabilityZoneOf } from "./services.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

const INSTANCES = tableOf("instances", INSTANCE);
const FAULTS = tableOf("instance_faults", INSTANCE_FAULT);

type SaveOptions = {
  /** The required host; null requires that the instance has none. */
  readonly expectedHost?: string | null;
  readonly expectedTaskState?: readonly (TaskState | null)[];
  readonly expectedVmState?: readonly VmState[];
  readonly ofRequest?: string;
};

const PLACEMENT_FIELDS = ["host", "node", "computeId"] as const;
/** The fields that may be written to a deleted row, for the later removal of its files (spec 3.7). */
const AFTER_DELETE: readonly string[] = ["cleaned", "systemMetadata"];

/** Table `instances` (spec 1.4). */
export function createInstanceTables({
  sql,
  clock,
  changes,
  recentInstances,
  recentMigrations,
  followers,
}: StoreContext) {
  const table = new Table(sql, INSTANCES);
  const faults = new Table(sql, FAULTS);

  return {
    ...createInstanceQueries(sql, table),
    get,
    byHost: (host: string): Instance[] => table.many("host = ? AND deleted = 0 ORDER BY id", host),
    /**
     * Returns a page of instances that are not deleted, by id.
     * @param after only instances with a greater id
     */
    page: ({ after, limit }: { readonly after: number; readonly limit: number }): Instance[] =>
      table.many("id > ? AND deleted = 0 ORDER BY id LIMIT ?", after, limit),
    byHostAndNode: (host: string, node: string): Instance[] =>
      table.many("host = ? AND node = ? AND deleted = 0 ORDER BY id", host, node),
    /** Returns names and uuids of the instances on each host, by id. */
    namesByHosts(
      hosts: readonly string[],
    ): ReadonlyMap<string, readonly { readonly name: string; readonly uuid: string }[]> {
      const found = new Map<string, { name: string; uuid: string }[]>();
      for (const [host, name, uuid] of sql.all(
        `SELECT host, display_name, uuid FROM instances
          WHERE host IN (SELECT value FROM json_each(?)) AND deleted = 0 ORDER BY +id`,
        JSON.stringify(hosts),
      )) {
        const here = found.get(String(host)) ?? [];
        here.push({ name: String(name), uuid: String(uuid) });
        found.set(String(host), here);
      }
      return found;
    },
    /**
     * Returns the number of instances of a project or of one of its users, and the sums of their resources. Soft-deleted
     * instances count only after they are restored.
     */
    usage(
      projectId: string,
      userId: string | null,
    ): { readonly instances: number; readonly vcpus: number; readonly memoryMb: number } {
      const [instances, vcpus, memoryMb] =
        sql.get(
          `SELECT count(*), coalesce(sum(vcpus), 0), coalesce(sum(memory_mb), 0) FROM instances
            WHERE project_id = ?1 AND (?2 IS NULL OR user_id = ?2) AND deleted = 0 AND hidden = 0
              AND (vm_state <> 'soft-delete' OR task_state = 'restoring')`,
          projectId,
          userId,
        ) ?? [];
      return { instances: Number(instances), vcpus: Number(vcpus), memoryMb: Number(memoryMb) };
    },
    countByHost: (host: string): number =>
      sql.number("SELECT count(*) FROM instances WHERE host = ? AND deleted = 0", host),
    /** Returns the number of instances by state; states without instances are absent. */
    countsByVmState(): ReadonlyMap<string, number> {
      const rows = sql.all("SELECT vm_state, count(*) FROM instances WHERE deleted = 0 GROUP BY vm_state");
      return new Map(rows.map(([state, count]) => [String(state), Number(count)]));
    },
    /** Returns the number of instances by host; hosts without instances are absent. */
    countsByHost(): ReadonlyMap<string, number> {
      const rows = sql.all("SELECT host, count(*) FROM instances WHERE host IS NOT NULL AND deleted = 0 GROUP BY host");
      return new Map(rows.map(([host, count]) => [String(host), Number(count)]));
    },
    /** Returns at most `limit` instances with a task state, oldest first. */
    busy: (limit: number): { readonly uuid: string; readonly displayName: string; readonly taskState: string }[] =>
      table
        .many("task_state IS NOT NULL AND deleted = 0 ORDER BY id LIMIT ?", limit)
        .map(({ uuid, displayName, taskState }) => ({ uuid, displayName, taskState: taskState ?? "" })),
    create: (instance: NewInstance): Instance =>
      sql.transaction(() => {
        table.insert({ ...newInstance(instance), createdAt: clock.now() });
        changes.changed("instance", instance.uuid);
        const created = existing(instance.uuid, false);
        for (const follower of followers) {
          follower.instanceSaved(created, null);
        }
        return created;
      }),
    save: (uuid: string, values: InstanceChanges, options: SaveOptions = {}): Instance =>
      sql.transaction(() => {
        const readDeleted = Object.keys(values).every((field) => AFTER_DELETE.includes(field));
        const found = existing(uuid, readDeleted);
        assertExpectedState(found, options);
        assertPlacementComplete(found, values);
        const implied = { ...requestsOf(found, values), ...zoneOfNewHost(found, values) };
        const changed = table.change(found, { ...values, ...implied, updatedAt: clock.now() });
        recentInstances.set(uuid, changed);
        changes.changed("instance", uuid);
        for (const follower of followers) {
          follower.instanceSaved(changed, found);
        }
        return changed;
      }),
    destroy: (uuid: string, options: { readonly guardHostIsNull?: boolean } = {}): Instance =>
      sql.transaction(() => {
        const { id, host } = existing(uuid, false);
        if (options.guardHostIsNull && host !== null) {
          throw new ConductorError(
            "ObjectActionError",
            `instance ${uuid} cannot be destroyed: host changed: found ${host}, expected none; read it again and delete it on that host`,
            { uuid, host },
          );
        }
        const now = clock.now();
        sql.execute("UPDATE instances SET deleted = id, deleted_at = ?, updated_at = ? WHERE id = ?", now, now, id);
        const migrations = sql.all("SELECT id FROM migrations WHERE instance_uuid = ? AND deleted = 0", uuid);
        sql.execute(
          "UPDATE migrations SET deleted = id, deleted_at = ? WHERE instance_uuid = ? AND deleted = 0",
          now,
          uuid,
        );
        sql.execute("DELETE FROM request_specs WHERE instance_uuid = ?", uuid);
        sql.execute("DELETE FROM block_device_mappings WHERE instance_uuid = ?", uuid);
        sql.execute("DELETE FROM server_group_members WHERE instance_uuid = ?", uuid);
        recentInstances.forget(uuid);
        changes.changed("instance", uuid);
        for (const [migrationId] of migrations) {
          recentMigrations.forget(Number(migrationId));
          changes.changed("migration", Number(migrationId));
        }
        const destroyed = existing(uuid, true);
        for (const follower of followers) {
          follower.instanceDestroyed(destroyed);
        }
        return destroyed;
      }),
    addFault: (fault: Omit<InstanceFault, "createdAt">): void =>
      sql.transaction(() => {
        existing(fault.instanceUuid, true);
        faults.insert({ ...fault, createdAt: clock.now() });
        changes.changed("instance", fault.instanceUuid);
      }),
    /** Returns the newest fault. */
    fault: (uuid: string): InstanceFault | null => faults.one("instance_uuid = ? ORDER BY id DESC LIMIT 1", uuid),
  };

  function get(uuid: string, options: { readonly readDeleted?: boolean } = {}): Instance | null {
    let instance = recentInstances.get(uuid) ?? null;
    if (instance === null) {
      instance = table.one("uuid = ?", uuid);
      if (instance !== null) {
        recentInstances.set(uuid, instance);
      }
    }
    return instance === null || instance.deleted === 0 || options.readDeleted ? instance : null;
  }

  /** Sets the availability zone in the same write as the host, so that they cannot become inconsistent. */
  function zoneOfNewHost(found: Instance, { host }: InstanceChanges): Pick<InstanceChanges, "availabilityZone"> {
    if (host === undefined || host === found.host) {
      return {};
    }
    return { availabilityZone: host === null ? null : availabilityZoneOf(sql, host) };
  }

  function existing(uuid: string, readDeleted: boolean): Instance {
    const instance = get(uuid, { readDeleted });
    if (!instance) {
      throw new ConductorError("InstanceNotFound", `instance ${uuid} was not found: it never existed or was deleted`, {
        uuid,
      });
    }
    return instance;
  }
}

function assertExpectedState(found: Instance, options: SaveOptions): void {
  const { uuid, host, taskState, vmState } = found;
  const { expectedTaskState, expectedVmState, expectedHost, ofRequest } = options;
  if (expectedHost !== undefined && host !== expectedHost) {
    const text = `instance ${uuid}: host changed: found ${host ?? "none"}, expected ${expectedHost ?? "none"}`;
    throw new ConductorError("ObjectActionError", text, { uuid, host, reason: "host changed" });
  }
  if (ofRequest !== undefined && !holdsTask(found, ofRequest, [taskState])) {
    throw new ConductorError(
      "UnexpectedTaskState",
      `instance ${uuid}: found task_state ${taskState} of ${found.taskRequestId}, expected one of ${ofRequest}`,
      { uuid, actual: taskState, request: found.taskRequestId },
    );
  }
  if (expectedTaskState && !expectedTaskState.includes(taskState)) {
    const expected = expectedTaskState.map((state) => state ?? "none").join(", ");
    const code = taskState === "deleting" ? "UnexpectedDeletingTaskState" : "UnexpectedTaskState";
    throw new ConductorError(
      code,
      `instance ${uuid}: found task_state ${taskState ?? "none"}, expected ${expected || "no state"}`,
      {
        uuid,
        actual: taskState,
        expected: expectedTaskState,
      },
    );
  }
  if (expectedVmState && !expectedVmState.includes(vmState)) {
    throw new ConductorError(
      "UnexpectedVmState",
      `instance ${uuid}: found vm_state ${vmState}, expected ${expectedVmState.join(", ")}`,
      {
        uuid,
        actual: vmState,
        expected: expectedVmState,
      },
    );
  }
}

/**
 * Returns the request that owns the task_state: the one in the changes, otherwise the current one. The request of a
 * delete remains until it finishes.
 * An evacuation may replace its task_state, but the user's delete still applies.
 */
function requestsOf(
  found: Instance,
  { taskState, taskRequestId }: InstanceChanges,
): Partial<Pick<Instance, "taskRequestId" | "deleteRequestId">> {
  if (taskState === undefined) {
    return { taskRequestId: found.taskRequestId };
  }
  if (taskState === null) {
    return { taskRequestId: null, ...(isDelete(found.taskState) ? { deleteRequestId: null } : {}) };
  }
  const owner = taskRequestId ?? found.taskRequestId;
  return { taskRequestId: owner, ...(isDelete(taskState) ? { deleteRequestId: owner } : {}) };
}

const isDelete = (taskState: TaskState | null): boolean => taskState === "deleting" || taskState === "soft-deleting";

/**
 * Checks that host, node and compute_id change in the same write (spec 1.4): a stale one would refer to another host's
 * node.
 */
function assertPlacementComplete(found: Instance, values: InstanceChanges): void {
  const moves = PLACEMENT_FIELDS.some((field) => values[field] !== undefined && values[field] !== found[field]);
  const missing = PLACEMENT_FIELDS.filter((field) => values[field] === undefined);
  if (moves && missing.length > 0) {
    const placement: Record<string, SqlValue | undefined> = {
      host: values.host,
      node: values.node,
      computeId: values.computeId,
    };
    rejectField("changes", placement, `host, node and computeId in the same change; missing: ${missing.join(" and ")}`);
  }
}
