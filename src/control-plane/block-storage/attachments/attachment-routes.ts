import { HttpError, notFound } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { type Action, actionRoute } from "../engine/actions.js";
import type { BlockStorageCall, BlockStorageRoute } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { readRoutes } from "../engine/resource-routes.js";
import { bodyOf, object, UUID } from "../engine/schema-parts.js";
import { renderView } from "../engine/views.js";
import { ATTACHMENTS, type Attachment } from "../resources/attachments.js";
import { VOLUMES, type Volume } from "../resources/volumes.js";
import {
  assertDetachable,
  attachmentsOfVolume,
  type Connector,
  completeAttachment,
  connectAttachment,
  isConnected,
  NO_MODE,
  removeAttachment,
  reserveAttachment,
} from "./attachments.js";

interface NewAttachment {
  readonly volume_uuid: string;
  readonly instance_uuid?: string;
  readonly connector?: Connector | null;
  readonly mode?: "rw" | "ro";
}

const PROPERTIES = { instance_uuid: UUID, connector: { type: ["object", "null"] }, volume_uuid: UUID };

const CREATE: SchemaVersions<{ readonly attachment: NewAttachment }> = schemas(
  [27, bodyOf("attachment", object(PROPERTIES, ["volume_uuid"]))],
  [54, bodyOf("attachment", object({ ...PROPERTIES, mode: { type: "string", enum: ["rw", "ro"] } }, ["volume_uuid"]))],
);

const UPDATE: SchemaVersions<{ readonly attachment: { readonly connector: Connector } }> = schemas([
  27,
  bodyOf("attachment", object({ connector: { type: "object", minProperties: 1 } }, ["connector"])),
]);

/** Attachments are shown to everybody who knows their id, as by Cinder. @throws {HttpError} 404 */
function find({ context, params }: BlockStorageCall): Attachment {
  const id = params.id ?? "";
  const attachment = context.table(ATTACHMENTS).get(id);
  if (attachment === undefined) {
    throw notFound(`Volume attachment could not be found with filter: attachment_id = ${id}.`);
  }
  return attachment;
}

function createAttachment(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { attachment: requested } = call.body(CREATE);
  const volume = context.require(VOLUMES, requested.volume_uuid);
  context.authorize("volume:attachment_create", volume);
  const { instance_uuid: server = null, mode = NO_MODE, connector } = requested;
  const reserved = reserveAttachment(context, volume, server, mode);
  const connected = connector ? connectAttachment(context, volume, reserved, connector) : undefined;
  if (connected) {
    // The requested mode stays, even if it is none.
    context.change(ATTACHMENTS, reserved.id, { attach_mode: reserved.attach_mode });
  }
  // Cinder responds with the record as it was before the connection.
  const current = { ...reserved, ...(connected && { connection_info: connected.connection_info }) };
  return { body: { attachment: renderView(call, ATTACHMENTS, current, "detail") } };
}

function updateAttachment(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { attachment: requested } = call.body(UPDATE);
  const attachment = find(call);
  context.authorize("volume:attachment_update", attachment);
  const volume = context.require(VOLUMES, attachment.volume_id);
  assertUpdatable(context, volume);
  const { connection_info } = connectAttachment(context, volume, attachment, requested.connector);
  // Cinder responds with the record as it was before the connection.
  const current = { ...attachment, connection_info };
  return { body: { attachment: renderView(call, ATTACHMENTS, current, "detail") } };
}

/** Cinder reports what keeps an attachment from being updated as an internal error. @throws {HttpError} 500 */
function assertUpdatable(context: BlockStorageContext, { id, status, multiattach }: Volume): void {
  if (status.includes("error")) {
    throw cannotUpdate(
      `Volume attachments can not be updated if the volume is in an error state. The Volume ${id} currently has a status of: ${status} `,
    );
  }
  const attachments = attachmentsOfVolume(context, id);
  if (attachments.length > 1 && !multiattach && attachments.some(isConnected)) {
    throw cannotUpdate(`duplicate connectors detected on volume ${id}`);
  }
}

function cannotUpdate(reason: string): HttpError {
  return new HttpError(500, `Unable to update attachment.(Invalid volume: ${reason}).`);
}

function deleteAttachment(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const attachment = find(call);
  context.authorize("volume:attachment_delete", attachment);
  assertDetachable(context, attachment, undefined);
  removeAttachment(context, attachment);
  const left = attachmentsOfVolume(context, attachment.volume_id).toReversed();
  return { body: { attachments: left.map((one) => renderView(call, ATTACHMENTS, one, "summary")) } };
}

const ACTIONS: Readonly<Record<string, Action<Attachment>>> = {
  "os-complete": {
    from: 44,
    run: ({ context }, attachment) => {
      context.require(VOLUMES, attachment.volume_id);
      context.authorize("volume:attachment_complete", attachment);
      completeAttachment(context, attachment);
      return { status: 204 };
    },
  },
};

const [LIST, DETAIL] = readRoutes(ATTACHMENTS, {});

export const ATTACHMENT_ROUTES: readonly BlockStorageRoute[] = [
  ...[LIST, DETAIL].flatMap((route) => route ?? []),
  ...routes<BlockStorageRoute>(
    {
      "GET /:id": (call) => ({ body: { attachment: renderView(call, ATTACHMENTS, find(call), "detail") } }),
      "POST /": { body: CREATE, fault: "volume.attach", handle: createAttachment },
      "PUT /:id": { body: UPDATE, fault: "volume.attach", handle: updateAttachment },
      "DELETE /:id": { fault: "volume.detach", handle: deleteAttachment },
    },
    { prefix: "/attachments", from: 27 },
  ),
  actionRoute("/attachments/:id/action", 27, find, ACTIONS),
];
