import { badRequest, notFound } from "../../http/http-error.js";
import { routes } from "../../http/router.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { isoMicroseconds } from "../../http/times.js";
import type { BlockStorageCall, BlockStorageRoute, Body } from "../engine/block-storage-call.js";
import { ACCEPTED } from "../engine/resource-routes.js";
import { NAME, object } from "../engine/schema-parts.js";
import { TYPES, type VolumeType } from "../resources/types.js";
import { VOLUMES } from "../resources/volumes.js";
import { requireType } from "./find-type.js";

const ENCRYPTION = {
  key_size: { type: ["string", "integer", "null"], minimum: 0, maximum: 2_147_483_647, format: "key_size" },
  provider: { type: "string", minLength: 0, maxLength: 255 },
  control_location: { enum: ["front-end", "back-end"] },
  cipher: NAME,
};

function bodyWith(required: readonly string[]): SchemaVersions<{ encryption: Body }> {
  return schemas([
    0,
    object({ encryption: object(ENCRYPTION, required, { additionalProperties: true }) }, ["encryption"]),
  ]);
}

const CREATE = bodyWith(["provider", "control_location"]);
const UPDATE = bodyWith([]);

const RULE = "volume_extension:volume_type_encryption";

/** Members of an encryption that clients set. */
const SETTABLE = Object.keys(ENCRYPTION);

function typeFor(call: BlockStorageCall, operation: string): VolumeType {
  call.context.authorize(`${RULE}:${operation}`);
  return requireType(call.context, call.param("id"));
}

/** @throws {HttpError} 404 */
function requireEncryption({ id, encryption }: VolumeType): Body {
  if (encryption === null) {
    throw notFound(`Volume type encryption for type ${id} does not exist.`);
  }
  return encryption;
}

/** @throws {HttpError} 400 */
function assertUnused({ context }: BlockStorageCall, { id }: VolumeType, operation: string): void {
  if (context.sql.get("SELECT 1 FROM block_storage_volumes WHERE volume_type_id = ? LIMIT 1", id)) {
    throw badRequest(`Cannot ${operation} encryption specs. Volume type in use.`);
  }
}

function settableOf(body: Body): Body {
  const members = Object.entries(body).filter(([name]) => SETTABLE.includes(name));
  return Object.fromEntries(
    members.map(([name, value]) => [name, name === "key_size" && value !== null ? Number(value) : value]),
  );
}

/** Encryption of volume types, and of their volumes. */
export const ENCRYPTION_ROUTES: readonly BlockStorageRoute[] = routes<BlockStorageRoute>({
  "GET /types/:id/encryption": (call) => {
    const { id, encryption } = typeFor(call, "get");
    return { body: encryption === null ? {} : { ...encryption, volume_type_id: id } };
  },
  "POST /types/:id/encryption": {
    body: CREATE,
    handle: (call) => {
      const { encryption } = call.body(CREATE);
      const type = typeFor(call, "create");
      assertUnused(call, type, "create");
      if (type.encryption !== null) {
        throw badRequest(`Volume type encryption for type ${type.id} already exists.`);
      }
      const saved = {
        created_at: isoMicroseconds(call.context.now),
        updated_at: null,
        deleted_at: null,
        deleted: false,
        encryption_id: call.context.newId(),
        cipher: null,
        key_size: null,
        ...settableOf(encryption),
      };
      call.context.change(TYPES, type.id, { encryption: saved });
      return {
        body: {
          encryption: {
            ...encryption,
            ...settableOf(encryption),
            volume_type_id: type.id,
            encryption_id: saved.encryption_id,
          },
        },
      };
    },
  },
  "GET /types/:id/encryption/:key": (call) => {
    const encryption = requireEncryption(typeFor(call, "get"));
    const key = call.param("key");
    if (!Object.hasOwn(encryption, key)) {
      throw notFound();
    }
    return { body: { [key]: encryption[key] ?? null } };
  },
  "PUT /types/:id/encryption/:key": {
    body: UPDATE,
    handle: (call) => {
      const { encryption } = call.body(UPDATE);
      const type = typeFor(call, "update");
      assertUnused(call, type, "update");
      const known = requireEncryption(type);
      const changes = settableOf(encryption);
      const updated_at = isoMicroseconds(call.context.now);
      call.context.change(TYPES, type.id, { encryption: { ...known, ...changes, updated_at } });
      return { body: { encryption } };
    },
  },
  "DELETE /types/:id/encryption/:key": (call) => {
    const type = typeFor(call, "delete");
    assertUnused(call, type, "delete");
    requireEncryption(type);
    call.context.change(TYPES, type.id, { encryption: null });
    return ACCEPTED;
  },
  "GET /volumes/:id/encryption": (call) => ({ body: volumeEncryption(call) }),
  "GET /volumes/:id/encryption/:key": (call) => {
    const value = volumeEncryption(call)[call.param("key")];
    return value === undefined || value === null ? {} : { text: String(value) };
  },
});

/** The encryption of a volume: that of its type, with its key. */
function volumeEncryption(call: BlockStorageCall): Body {
  const { context } = call;
  const volume = context.require(VOLUMES, call.param("id"));
  context.authorize("volume_extension:volume_encryption_metadata", volume);
  const key = { encryption_key_id: volume.encryption_key_id };
  const encryption =
    volume.volume_type_id === null ? null : (context.table(TYPES).get(volume.volume_type_id)?.encryption ?? null);
  if (encryption === null) {
    return key;
  }
  const { cipher = null, key_size = null, provider = null, control_location = null } = encryption;
  return { ...key, cipher, key_size, provider, control_location };
}
