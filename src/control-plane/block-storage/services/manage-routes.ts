import { badRequest } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { type Schema, type SchemaVersions, schemas } from "../../http/schemas.js";
import type { BlockStorageCall, BlockStorageRoute, Body } from "../engine/block-storage-call.js";
import { respond } from "../engine/resource-routes.js";
import {
  BOOLEAN_TEXT,
  bodyOf,
  DESCRIPTION,
  isTrue,
  METADATA_OR_NULL,
  NAME,
  object,
  UUID,
} from "../engine/schema-parts.js";
import { renderView } from "../engine/views.js";
import { SNAPSHOTS } from "../resources/snapshots.js";
import { VOLUMES } from "../resources/volumes.js";
import { insertSnapshot } from "../snapshots/snapshots.js";
import { defaultType, isMultiattach, requireTypeNamed } from "../types/find-type.js";
import { newVolume } from "../volumes/create-volume.js";
import { listPools } from "./pools.js";

const VOLUME: Schema = {
  description: DESCRIPTION,
  availability_zone: NAME,
  bootable: BOOLEAN_TEXT,
  volume_type: NAME,
  name: NAME,
  host: { type: ["string", "null"], minLength: 1, maxLength: 255, pattern: "^[a-zA-Z0-9-._#@:/+\\[\\]]*$" },
  ref: { type: ["object", "string"] },
  metadata: METADATA_OR_NULL,
};

const MANAGE_VOLUME: SchemaVersions<{ readonly volume: Body }> = schemas(
  [0, bodyOf("volume", object(VOLUME, ["ref"]))],
  [16, bodyOf("volume", object({ ...VOLUME, cluster: NAME }, ["ref"]))],
);

const MANAGE_SNAPSHOT: SchemaVersions<{ readonly snapshot: Body }> = schemas([
  0,
  bodyOf(
    "snapshot",
    object(
      {
        description: DESCRIPTION,
        metadata: METADATA_OR_NULL,
        name: NAME,
        volume_id: UUID,
        ref: { type: ["object", "null", "string"] },
      },
      ["ref", "volume_id"],
    ),
  ),
]);

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** Takes a volume of a back end under management. Nothing exists there, so every reference is found. */
function manageVolume(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { volume: requested } = call.body(MANAGE_VOLUME);
  context.authorize("volume_extension:volume_manage");
  const host = textOf(requested.host) ?? textOf(requested.cluster) ?? "";
  const pool = listPools(context).find(({ name, service }) => name === host || service.host === host);
  if (pool === undefined) {
    throw badRequest(`Host '${host}' not found`);
  }
  const typeName = textOf(requested.volume_type);
  const type = typeName ? requireTypeNamed(context, typeName) : defaultType(context, context.caller.projectId);
  const volume = context.insert(VOLUMES, {
    ...newVolume(context),
    name: textOf(requested.name),
    description: textOf(requested.description),
    metadata: (requested.metadata ?? {}) as Readonly<Record<string, string>>,
    bootable: isTrue(requested.bootable),
    host: pool.name,
    volume_type_id: type?.id ?? null,
    multiattach: isMultiattach(type),
  });
  context.enqueue("volume.manage", volume.id);
  // Cinder shows it at its oldest microversion.
  const view = renderView(call.at(0), VOLUMES, volume, "detail");
  return { status: 202, body: { volume: view } };
}

function manageSnapshot(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { snapshot: requested } = call.body(MANAGE_SNAPSHOT);
  const volume = context.require(VOLUMES, String(requested.volume_id));
  context.authorize("snapshot_extension:snapshot_manage", volume);
  const snapshot = insertSnapshot(context, volume, {
    name: textOf(requested.name),
    description: textOf(requested.description),
    metadata: (requested.metadata ?? {}) as Readonly<Record<string, string>>,
    statuses: ["available", "in-use"],
  });
  context.enqueue("snapshot.manage", snapshot.id);
  return respond(call, SNAPSHOTS, snapshot, "summary", 202);
}

interface ManageDescription {
  readonly paths: readonly (readonly [path: string, from: number])[];
  /** Key of lists. */
  readonly key: string;
  readonly rule: string;
  readonly body: SchemaVersions<unknown>;
  readonly handle: BlockStorageRoute["handle"];
}

function manageRoutes({ paths, key, rule, body, handle }: ManageDescription): readonly BlockStorageRoute[] {
  const none = ({ context }: BlockStorageCall): RouteResponse => {
    context.authorize(rule);
    return { body: { [key]: [] } };
  };
  return paths.flatMap(([path, from]): readonly BlockStorageRoute[] => [
    { method: "GET", path, from, handle: none },
    { method: "GET", path: `${path}/detail`, from, handle: none },
    { method: "POST", path, from, body, handle },
  ]);
}

/** Volumes and snapshots that back ends have beside the service's own: none. */
export const MANAGE_ROUTES: readonly BlockStorageRoute[] = [
  ...manageRoutes({
    paths: [
      ["/manageable_volumes", 8],
      ["/os-volume-manage", 0],
    ],
    key: "manageable-volumes",
    rule: "volume_extension:list_manageable",
    body: MANAGE_VOLUME,
    handle: manageVolume,
  }),
  ...manageRoutes({
    paths: [
      ["/manageable_snapshots", 8],
      ["/os-snapshot-manage", 0],
    ],
    key: "manageable-snapshots",
    rule: "snapshot_extension:list_manageable",
    body: MANAGE_SNAPSHOT,
    handle: manageSnapshot,
  }),
];
