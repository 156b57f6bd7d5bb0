import {
  FLAVOR_AMOUNTS,
  type Flavor,
  type InjectedFile,
  type Instance,
  type PowerState,
  type VmState,
} from "../../records/index.js";
import { isObject } from "../../runtime/collections.js";
import {
  code,
  deletedId,
  type FieldCodec,
  flag,
  nullable,
  number,
  numbers,
  readOnly,
  rowTime,
  stringRecord,
  text,
  time,
  unknownToNova,
  word,
} from "./field-codec.js";
import { FLAVOR_OBJECT } from "./flavor.js";
import { migrationContext } from "./migration.js";
import { listedObjects, objectOf } from "./primitive.js";
import { type RecordObject, readRecord, writeRecord } from "./record-object.js";
import { systemMetadata } from "./system-metadata.js";

const flavor: FieldCodec<Flavor> = {
  read: (value) => readRecord(FLAVOR_OBJECT, value),
  write: (value, profile) => writeRecord(FLAVOR_OBJECT, value, profile),
};

const name = nullable(text());

/** The fields of an object that come only when they are asked for, and that the record has. `flavor` brings all three flavors. */
export const JOINED_FIELDS = ["flavor", "metadata", "system_metadata", "migration_context", "tags"] as const;

export const INSTANCE_OBJECT: RecordObject<Instance> = {
  name: "Instance",
  fields: {
    id: readOnly(number(0)),
    uuid: text(),
    projectId: readOnly(text("")),
    userId: text(""),
    displayName: text(""),
    displayDescription: nullable(text()),
    hostname: text(""),
    reservationId: text(""),
    launchIndex: number(0),
    imageRef: text(""),
    host: name,
    node: name,
    computeId: nullable(number()),
    launchedOn: name,
    availabilityZone: name,
    vmState: word<VmState>("building"),
    taskState: nullable(word()),
    // Nova does not say who has set a task state, nor that a delete was asked for.
    taskRequestId: unknownToNova<string | null>(() => null),
    deleteRequestId: unknownToNova<string | null>(() => null),
    powerState: code<PowerState>(0),
    flavor,
    oldFlavor: nullable(flavor),
    newFlavor: nullable(flavor),
    instanceTypeId: number(0),
    ...numbers(FLAVOR_AMOUNTS, 0),
    metadata: stringRecord,
    systemMetadata,
    migrationContext: nullable(migrationContext),
    // "True" or nothing, since there were other values once.
    configDrive: { read: (value) => value === "True" || value === true, write: (value) => (value ? "True" : "") },
    keyName: name,
    keyData: nullable(text()),
    accessIpV4: nullable(text()),
    accessIpV6: nullable(text()),
    autoDiskConfig: flag(false),
    userData: nullable(text()),
    // They are in the messages that build a server, and nowhere afterwards.
    injectedFiles: unknownToNova<readonly InjectedFile[]>(() => []),
    tags: readOnly<readonly string[]>({
      read: (value) => (isObject(value) ? listedObjects(value, "TagList").map(tagName) : []),
      write: null,
    }),
    locked: flag(false),
    lockedReason: unknownToNova(lockedReason),
    progress: number(0),
    hidden: flag(false),
    cleaned: flag(false),
    deleted: deletedId,
    deletedAt: readOnly(nullable(time)),
    createdAt: rowTime,
    updatedAt: readOnly(nullable(time)),
    launchedAt: nullable(time),
    terminatedAt: nullable(time),
  },
};

function tagName(value: unknown): string {
  return String(objectOf(value, "Tag")["nova_object.data"].tag);
}

function lockedReason({ system_metadata }: Readonly<Record<string, unknown>>): string | null {
  const reason = isObject(system_metadata) ? system_metadata.locked_reason : undefined;
  return typeof reason === "string" ? reason : null;
}
