import {
  hasInterruptedRebuild,
  type Instance,
  markInterruptedRebuild,
  REBUILD_TASK_STATES,
} from "../../../../records/index.js";
import { badRequest, HttpError, notFound } from "../../../http/http-error.js";
import { type Schema, schemas } from "../../../http/schemas.js";
import type { Store } from "../../../store/store.js";
import { isUp } from "../../api/agents.js";
import { requireAdmin } from "../../api/call.js";
import { ADMIN_PASSWORD, BOOLEAN, HOSTNAME, isTrue } from "../../api/schema-parts.js";
import { generatePassword } from "../create-server.js";
import { findInstance } from "../find-server.js";
import { recordAction, requireState, type ServerAction } from "./server-action.js";

interface EvacuateBody {
  readonly evacuate: {
    readonly host?: string;
    /** Only before 2.14. */
    readonly onSharedStorage?: boolean | string;
    readonly adminPass?: string;
    /** Only from 2.29 to 2.67. */
    readonly force?: boolean | string;
  };
}

function schema(properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema {
  return {
    type: "object",
    properties: { evacuate: { type: "object", properties, required, additionalProperties: false } },
    required: ["evacuate"],
    additionalProperties: false,
  };
}

const SINCE_14 = { host: HOSTNAME, adminPass: ADMIN_PASSWORD };

const SCHEMA = schemas<EvacuateBody>(
  [1, schema({ ...SINCE_14, onSharedStorage: BOOLEAN }, ["onSharedStorage"])],
  [14, schema(SINCE_14)],
  [29, schema({ ...SINCE_14, force: BOOLEAN })],
  [68, schema(SINCE_14)],
);

/** Evacuates a server (spec 6.7 row 1). */
export const evacuate: ServerAction = {
  name: "evacuate",
  schema: SCHEMA,
  run: (deps, call) => {
    const { evacuate: requested } = call.body(SCHEMA);
    const { store } = deps;
    const instance = findInstance(deps, call);
    requireAdmin(call, "os_compute_api:os-evacuate");
    const { host = null } = requested;
    const forced = isTrue(requested.force);
    const shared = call.version < 14 ? isTrue(requested.onSharedStorage) : null;
    if (forced && host === null) {
      throw badRequest("Can't force to a non-provided destination");
    }
    if (shared && requested.adminPass !== undefined) {
      throw badRequest("admin password can't be changed on existing disk");
    }
    if (host !== null && !store.services.getByHost(host, "nova-compute")) {
      throw notFound(`Compute host ${host} not found.`);
    }
    if (host !== null && instance.host === host) {
      throw badRequest("The target host can't be the same one.");
    }
    requireState(instance, "evacuate", { vm: ["active", "stopped", "error"], task: null });
    if (instance.host === null || instance.node === null) {
      throw new HttpError(409, `Instance ${instance.uuid} is not ready`);
    }
    const source = store.services.getByHost(instance.host, "nova-compute");
    if (source && isUp(deps, source)) {
      throw badRequest(`Compute service of ${instance.host} is still in use.`);
    }
    store.instances.save(instance.uuid, {
      taskState: "rebuilding",
      taskRequestId: call.requestId,
      ...markInterruptedRebuild(instance, interruptsRebuild(store, instance) ? call.requestId : null),
    });
    recordAction(deps, call, instance, "evacuate");
    const migration = store.migrations.create({
      instanceUuid: instance.uuid,
      migrationType: "evacuation",
      status: "accepted",
      changes: {
        sourceCompute: instance.host,
        sourceNode: instance.node,
        destCompute: host,
        userId: call.credentials.userId,
        projectId: call.credentials.projectId,
      },
    });
    store.tasks.add({
      kind: "rebuild_instance",
      instanceUuid: instance.uuid,
      migrationId: migration.id,
      requestId: call.requestId,
      host,
      forced,
      onSharedStorage: shared,
      targetStopped: call.version >= 95,
    });
    if (call.version >= 14) {
      return { status: 200 };
    }
    const password = requested.adminPass ?? (shared ? null : generatePassword(deps.random));
    return { status: 200, body: { adminPass: password } };
  },
};

/**
 * Returns whether this evacuation, or an earlier one, interrupts a rebuild. The task_state does not suffice: it has the
 * same names in an evacuation, which destroys nothing.
 */
function interruptsRebuild(store: Store, instance: Instance): boolean {
  const { uuid, taskState, taskRequestId } = instance;
  if (taskState === null || !REBUILD_TASK_STATES.includes(taskState)) {
    return false;
  }
  if (hasInterruptedRebuild(instance)) {
    return true;
  }
  const action = taskRequestId === null ? null : store.actions.get(uuid, taskRequestId);
  return action === null ? !isBeingEvacuated(store, uuid) : action.action === "rebuild";
}

/** Used for records of earlier releases, which have no request id. */
function isBeingEvacuated({ migrations }: Store, instanceUuid: string): boolean {
  const filters = { instanceUuid, migrationTypes: ["evacuation"], statuses: ["accepted", "pre-migrating"] } as const;
  return migrations.byFilters(filters).length > 0;
}
