import { badRequest } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { and, isOneOf, where } from "../../resources/condition.js";
import { type Action, actionRoute } from "../engine/actions.js";
import type { BlockStorageCall, BlockStorageRoute, Body } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { invalidSnapshot, invalidVolume } from "../engine/block-storage-errors.js";
import { metadataRoutes } from "../engine/metadata-routes.js";
import { ACCEPTED, readRoutes, respond } from "../engine/resource-routes.js";
import {
  BOOLEAN_TEXT,
  bodyOf,
  DESCRIPTION,
  isTrue,
  METADATA_OR_NULL,
  NAME,
  object,
  UUID_OR_NULL,
} from "../engine/schema-parts.js";
import { assertWithinQuotas } from "../quotas/quotas.js";
import { SNAPSHOTS, type Snapshot } from "../resources/snapshots.js";
import { VOLUMES, type Volume } from "../resources/volumes.js";
import { requireType } from "../types/find-type.js";
import { actionBody } from "../volumes/volume-actions.js";

type NewSnapshot = Readonly<Record<"name" | "display_name" | "description", string | null | undefined>> & {
  readonly volume_id: string;
  readonly force?: boolean | string;
  readonly metadata?: Readonly<Record<string, string>> | null;
};

const CREATE: SchemaVersions<{ readonly snapshot: NewSnapshot }> = schemas([
  0,
  bodyOf(
    "snapshot",
    object(
      {
        name: NAME,
        display_name: NAME,
        description: DESCRIPTION,
        volume_id: UUID_OR_NULL,
        force: BOOLEAN_TEXT,
        metadata: METADATA_OR_NULL,
      },
      ["volume_id"],
    ),
  ),
]);

const CHANGES = { name: NAME, description: DESCRIPTION, display_name: NAME, display_description: DESCRIPTION };

const UPDATE: SchemaVersions<{ readonly snapshot: Body }> = schemas([
  0,
  bodyOf("snapshot", object(CHANGES, undefined, { anyOf: Object.keys(CHANGES).map((name) => ({ required: [name] })) })),
]);

/** The first minor microversion in which snapshots of volumes in use need no force. */
const IN_USE_FROM = 66;

const FORCE_TEXT =
  "Since microversion 3.66 the 'force' flag is invalid for this request.  For backward compatability, however, when the " +
  "'force' flag is passed with a value evaluating to True, it is silently ignored.";

interface SnapshotOptions {
  readonly name?: string | null;
  readonly description?: string | null;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly groupSnapshotId?: string;
  /** Statuses of volumes that allow it. */
  readonly statuses: readonly string[];
}

/** Creates the record of a snapshot within the quotas. @throws {HttpError} 400, 413 */
export function insertSnapshot(context: BlockStorageContext, volume: Volume, options: SnapshotOptions): Snapshot {
  const { id, status, size, volume_type_id } = volume;
  const { projectId } = context.caller;
  if (volume.host === null) {
    throw invalidVolume("volume is not assigned to a host");
  }
  if (status === "maintenance") {
    throw invalidVolume("The snapshot cannot be created when the volume is in maintenance mode.");
  }
  if (status === "error") {
    throw invalidVolume("The snapshot cannot be created when the volume is in error status.");
  }
  if (!options.statuses.includes(status)) {
    throw invalidVolume(
      `Volume ${id} status must be ${options.statuses.join(", ")}, but current status is: ${status}.`,
    );
  }
  if (volume_type_id !== null) {
    requireType(context, volume_type_id);
  }
  assertWithinQuotas(context, {
    projectId,
    volumeTypeId: volume_type_id,
    amounts: { snapshots: 1, gigabytes: size },
  });
  return context.insert(SNAPSHOTS, {
    id: context.newId(),
    project_id: projectId,
    user_id: context.caller.userId,
    created_at: context.now,
    updated_at: null,
    volume_id: id,
    name: options.name ?? null,
    description: options.description ?? null,
    status: "creating",
    progress: "0%",
    size,
    volume_type_id,
    metadata: options.metadata ?? {},
    image_metadata: volume.image_metadata,
    encryption_key_id: volume.encryption_key_id,
    group_snapshot_id: options.groupSnapshotId ?? null,
    consumes_quota: true,
  });
}

function createSnapshot(call: BlockStorageCall): RouteResponse {
  const { context, version } = call;
  const { snapshot: requested } = call.body(CREATE);
  const volume = context.require(VOLUMES, String(requested.volume_id));
  if (version >= IN_USE_FROM && requested.force !== undefined && !isTrue(requested.force)) {
    throw badRequest(FORCE_TEXT);
  }
  context.authorize("volume:create_snapshot", volume);
  const mayBeInUse = version >= IN_USE_FROM || isTrue(requested.force);
  const snapshot = insertSnapshot(context, volume, {
    name: (requested.name ?? requested.display_name)?.trim() ?? null,
    description: requested.description?.trim() ?? null,
    metadata: requested.metadata ?? {},
    statuses: mayBeInUse ? ["available", "in-use"] : ["available"],
  });
  context.enqueue("snapshot.create", snapshot.id);
  return respond(call, SNAPSHOTS, snapshot, "detail", 202);
}

function updateSnapshot(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { snapshot: requested } = call.body(UPDATE);
  const snapshot = context.require(SNAPSHOTS, call.param("id"));
  context.authorize("volume:update_snapshot", snapshot);
  const name = requested.name ?? requested.display_name;
  const description = requested.description ?? requested.display_description;
  const changed = context.change(SNAPSHOTS, snapshot.id, {
    ...(typeof name === "string" && { name: name.trim() }),
    ...(typeof description === "string" && { description: description.trim() }),
  });
  return respond(call, SNAPSHOTS, changed ?? snapshot, "detail");
}

interface Removal {
  readonly isForced?: true;
  readonly status: "deleting" | "unmanaging";
}

/** Stores the work that removes a snapshot. @throws {HttpError} 400 */
function removeSnapshot(context: BlockStorageContext, { id }: Snapshot, { isForced, status }: Removal): void {
  const allowed = and(
    where`group_snapshot_id IS NULL`,
    ...(isForced ? [] : [isOneOf("status", ["available", "error"])]),
  );
  if (!context.change(SNAPSHOTS, id, { status }, allowed)) {
    throw invalidSnapshot("Snapshot status must be available or error and must not be part of a group.");
  }
  context.enqueue(status === "deleting" ? "snapshot.delete" : "snapshot.unmanage", id);
}

/** The statuses that Compute may set, by the status of a snapshot. */
const REPORTED: Readonly<Record<string, readonly string[]>> = {
  creating: ["creating", "available", "error"],
  deleting: ["deleting", "error_deleting"],
};

function reportStatus(context: BlockStorageContext, { id, status: current }: Snapshot, input: Body): void {
  const status = String(input.status);
  const allowed = REPORTED[current];
  if (allowed === undefined) {
    throw badRequest(`Snapshot status ${current} not allowed for update_snapshot_status`);
  }
  if (!allowed.includes(status)) {
    throw badRequest(`Provided snapshot status ${status} not allowed for snapshot with status ${current}.`);
  }
  const progress = typeof input.progress === "string" ? input.progress : undefined;
  context.change(SNAPSHOTS, id, { status, ...(progress !== undefined && { progress }) });
}

const RULE = "volume_extension:snapshot_admin_actions";

const ACTIONS: Readonly<Record<string, Action<Snapshot>>> = {
  "os-reset_status": {
    body: actionBody("os-reset_status", object({ status: { type: "string", format: "snapshot_status" } }, ["status"])),
    run: ({ context }, snapshot, input) => {
      context.authorize(`${RULE}:reset_status`, snapshot);
      context.change(SNAPSHOTS, snapshot.id, { status: String(input.status).toLowerCase() });
      return undefined;
    },
  },
  "os-force_delete": {
    run: ({ context }, snapshot) => {
      context.authorize(`${RULE}:force_delete`, snapshot);
      removeSnapshot(context, snapshot, { isForced: true, status: "deleting" });
      return undefined;
    },
  },
  "os-unmanage": {
    run: ({ context }, snapshot) => {
      context.authorize("snapshot_extension:snapshot_unmanage", snapshot);
      removeSnapshot(context, snapshot, { status: "unmanaging" });
      return undefined;
    },
  },
  "os-update_snapshot_status": {
    body: actionBody(
      "os-update_snapshot_status",
      object({ status: { type: "string" }, progress: { format: "progress" } }, ["status"]),
    ),
    run: ({ context }, snapshot, input) => {
      context.authorize("snapshot_extension:snapshot_actions:update_snapshot_status", snapshot);
      reportStatus(context, snapshot, input);
      return undefined;
    },
  },
};

export const SNAPSHOT_ROUTES: readonly BlockStorageRoute[] = [
  ...routes<BlockStorageRoute>({
    "POST /snapshots": { body: CREATE, handle: createSnapshot },
    "PUT /snapshots/:id": { body: UPDATE, handle: updateSnapshot },
    "DELETE /snapshots/:id": (call) => {
      const snapshot = call.context.require(SNAPSHOTS, call.param("id"));
      call.context.authorize("volume:delete_snapshot", snapshot);
      removeSnapshot(call.context, snapshot, { status: "deleting" });
      return ACCEPTED;
    },
  }),
  ...readRoutes(SNAPSHOTS, { list: "volume:get_all_snapshots", show: "volume:get_snapshot" }),
  actionRoute(
    "/snapshots/:id/action",
    0,
    ({ context, params }) => context.require(SNAPSHOTS, params.id ?? ""),
    ACTIONS,
  ),
  ...metadataRoutes<Snapshot>({
    path: "/snapshots/:parent/metadata",
    title: "Snapshot",
    rules: {
      get: "volume:get_snapshot_metadata",
      create: "volume:update_snapshot_metadata",
      update: "volume:update_snapshot_metadata",
      delete: "volume:delete_snapshot_metadata",
    },
    find: ({ context }, id) => context.require(SNAPSHOTS, id),
    read: ({ metadata }) => metadata,
    save: ({ context }, { id }, metadata) => context.change(SNAPSHOTS, id, { metadata }),
  }),
];
