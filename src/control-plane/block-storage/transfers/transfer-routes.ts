import { badRequest } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { where } from "../../resources/condition.js";
import type { BlockStorageCall, BlockStorageRoute } from "../engine/block-storage-call.js";
import { invalidSnapshot, invalidVolume, recordNotFound } from "../engine/block-storage-errors.js";
import { ACCEPTED, readRoutes, respond } from "../engine/resource-routes.js";
import { BOOLEAN_TEXT, bodyOf, isTrue, object, UUID } from "../engine/schema-parts.js";
import { renderView } from "../engine/views.js";
import { assertVolumeSize, assertWithinQuotas } from "../quotas/quotas.js";
import { SNAPSHOTS } from "../resources/snapshots.js";
import { TRANSFERS, type Transfer } from "../resources/transfers.js";
import { VOLUMES } from "../resources/volumes.js";

interface NewTransfer {
  readonly volume_id: string;
  readonly name?: string | null;
  readonly no_snapshots?: boolean | string;
}

const NAMED = {
  volume_id: UUID,
  name: { oneOf: [{ type: "string", format: "name_skip_leading_trailing_spaces" }, { type: "null" }] },
};

const CREATE_OLD: SchemaVersions<{ readonly transfer: NewTransfer }> = schemas([
  0,
  bodyOf("transfer", object(NAMED, ["volume_id"])),
]);

const CREATE: SchemaVersions<{ readonly transfer: NewTransfer }> = schemas(
  [0, bodyOf("transfer", object(NAMED, ["volume_id"]))],
  [55, bodyOf("transfer", object({ ...NAMED, no_snapshots: BOOLEAN_TEXT }, ["volume_id"]))],
);

const ACCEPT: SchemaVersions<{ readonly accept: { readonly auth_key: string | number } }> = schemas([
  0,
  bodyOf("accept", object({ auth_key: { type: ["string", "integer"] } }, ["auth_key"])),
]);

/** Bytes of a secret: 16 hexadecimal digits. */
const KEY_BYTES = 8;

function createTransfer(call: BlockStorageCall, schema: typeof CREATE): RouteResponse {
  const { context } = call;
  const { transfer: requested } = call.body(schema);
  const volume = context.require(VOLUMES, requested.volume_id);
  context.authorize("volume:create_transfer", volume);
  const busy = isTrue(requested.no_snapshots)
    ? undefined
    : context.table(SNAPSHOTS).first(where`volume_id = ${volume.id} AND status <> 'available'`);
  if (volume.status === "available" && busy) {
    throw invalidSnapshot(`snapshot: ${busy.id} status must be available`);
  }
  if (!context.change(VOLUMES, volume.id, { status: "awaiting-transfer" }, where`status = 'available'`)) {
    throw invalidVolume("status must be available");
  }
  const transfer = context.insert(TRANSFERS, {
    id: context.newId(),
    project_id: volume.project_id,
    volume_id: volume.id,
    name: requested.name?.trim() ?? null,
    auth_key: context.services.random.hex(KEY_BYTES),
    no_snapshots: isTrue(requested.no_snapshots),
    created_at: context.now,
  });
  const { auth_key } = transfer;
  return { status: 202, body: { transfer: { ...renderView(call, TRANSFERS, transfer, "detail"), auth_key } } };
}

/** Moves the volume, and its snapshots unless the offer excludes them, to the caller's project. */
function acceptTransfer(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { auth_key: key } = call.body(ACCEPT).accept;
  const transfer = findOffer(call);
  context.authorize("volume:accept_transfer");
  if (String(key) !== transfer.auth_key) {
    throw badRequest(`Invalid auth key: Attempt to transfer ${transfer.id} with invalid auth key.`);
  }
  const volume = context.table(VOLUMES).get(transfer.volume_id);
  if (volume === undefined) {
    throw recordNotFound(VOLUMES, transfer.volume_id);
  }
  const { projectId, userId } = context.caller;
  assertVolumeSize(context, projectId, volume.size);
  const snapshots = context.table(SNAPSHOTS).find(where`volume_id = ${volume.id}`);
  const moved = transfer.no_snapshots ? [] : snapshots;
  assertWithinQuotas(context, {
    projectId,
    volumeTypeId: volume.volume_type_id,
    amounts: {
      volumes: 1,
      gigabytes: volume.size + moved.reduce((sum, { size }) => sum + size, 0),
      snapshots: moved.length,
    },
  });
  if (volume.status !== "awaiting-transfer") {
    throw invalidVolume(`Transfer ${transfer.id}: Volume id ${volume.id} expected in awaiting-transfer state.`);
  }
  const owner = { project_id: projectId, user_id: userId };
  context.change(VOLUMES, volume.id, { ...owner, status: "available" });
  for (const { id } of moved) {
    context.change(SNAPSHOTS, id, owner);
  }
  context.table(TRANSFERS).delete(transfer.id);
  return respond(call, TRANSFERS, transfer, "summary", 202);
}

/** Everybody who knows the id may accept an offer. @throws {HttpError} 404 */
function findOffer({ context, params }: BlockStorageCall): Transfer {
  const id = params.id ?? "";
  const transfer = context.table(TRANSFERS).get(id);
  if (transfer === undefined) {
    throw recordNotFound(TRANSFERS, id);
  }
  return transfer;
}

function deleteTransfer({ context, params }: BlockStorageCall): RouteResponse {
  const transfer = context.require(TRANSFERS, params.id ?? "");
  context.authorize("volume:delete_transfer", transfer);
  context.change(VOLUMES, transfer.volume_id, { status: "available" }, where`status = 'awaiting-transfer'`);
  context.table(TRANSFERS).delete(transfer.id);
  return ACCEPTED;
}

function transferRoutes(path: string, schema: typeof CREATE, pages = {}): readonly BlockStorageRoute[] {
  return [
    ...routes<BlockStorageRoute>(
      {
        "POST /": {
          body: schema,
          handle: (call) => createTransfer(call, schema),
        },
        "DELETE /:id": deleteTransfer,
        "POST /:id/accept": { body: ACCEPT, handle: acceptTransfer },
      },
      { prefix: `/${path}` },
    ),
    ...readRoutes(TRANSFERS, { path, ...pages, list: "volume:get_all_transfers", show: "volume:get_transfer" }),
  ];
}

/** Transfers of volumes, at their present and their former path. */
export const TRANSFER_ROUTES: readonly BlockStorageRoute[] = [
  ...transferRoutes("volume-transfers", CREATE),
  ...transferRoutes("os-volume-transfer", CREATE_OLD, { pagesFrom: Number.POSITIVE_INFINITY }),
];
