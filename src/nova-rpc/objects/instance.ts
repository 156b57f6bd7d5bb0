import {
  DISK_INFO,
  FLAVOR_AMOUNTS,
  type Flavor,
  type InjectedFile,
  type Instance,
  type PowerState,
  type VmState,
} from "../../records/index.js";
import { isObject } from "../../runtime/collections.js";
import { migrationContext } from "./migration.js";
import { listedObjects, objectOf } from "./primitive.js";
import {
  code,
  deletedId,
  type FieldCodec,
  flag,
  nullable,
  number,
  numbers,
  type RecordObject,
  readOnly,
  readRecord,
  rowTime,
  stringRecord,
  text,
  timestamp,
  unknownToNova,
  word,
  writeRecord,
} from "./record-object.js";

/** Maximum characters of a value: the column length in Nova's database. */
const LONGEST = 255;

/** Returns `resize_disk_info`, `resize_disk_info.1`, `resize_disk_info.2` … */
const keyOf = (index: number): string => (index === 0 ? DISK_INFO : `${DISK_INFO}.${index}`);

/**
 * Nova's system metadata. A driver's disk info may have any length, and is split over several keys. All other values come
 * from an API, and are within Nova's limits.
 * @internal
 */
export const systemMetadata: FieldCodec<Readonly<Record<string, string>>> = {
  read: (value, row) => {
    const all = stringRecord.read(value, row);
    const rest = Object.entries(all).filter(([key]) => key !== DISK_INFO && !key.startsWith(`${DISK_INFO}.`));
    let diskInfo = all[DISK_INFO];
    for (let index = 1; diskInfo !== undefined && all[keyOf(index)] !== undefined; index += 1) {
      diskInfo += all[keyOf(index)];
    }
    return Object.fromEntries([...rest, ...(diskInfo === undefined ? [] : [[DISK_INFO, diskInfo] as const])]);
  },
  write: ({ [DISK_INFO]: diskInfo, ...rest }) => {
    const parts = diskInfo === "" ? [""] : (diskInfo?.match(new RegExp(`[\\s\\S]{1,${LONGEST}}`, "gu")) ?? []);
    return { ...rest, ...Object.fromEntries(parts.map((part, index) => [keyOf(index), part])) };
  },
};

export const FLAVOR_OBJECT: RecordObject<Flavor> = {
  name: "Flavor",
  fields: {
    id: number(),
    flavorid: text(),
    name: text(),
    vcpus: number(),
    memoryMb: number(),
    rootGb: number(),
    ephemeralGb: number(0),
    swap: number(0),
    rxtxFactor: number(1),
    disabled: flag(false),
    isPublic: flag(true),
    extraSpecs: stringRecord,
    description: nullable(text()),
  },
};

const flavor: FieldCodec<Flavor> = {
  read: (value) => readRecord(FLAVOR_OBJECT, value),
  write: (value, profile) => writeRecord(FLAVOR_OBJECT, value, profile),
};

const name = nullable(text());

/** Fields of the record that are loaded only on request. `flavor` loads all three flavors. */
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
    // Nova does not save the request that set a task state or requested a delete.
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
    // "True" or an empty string; earlier releases had other values.
    configDrive: { read: (value) => value === "True" || value === true, write: (value) => (value ? "True" : "") },
    keyName: name,
    keyData: nullable(text()),
    accessIpV4: nullable(text()),
    accessIpV6: nullable(text()),
    autoDiskConfig: flag(false),
    userData: nullable(text()),
    // Only messages that build a server contain them.
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
    deletedAt: readOnly(nullable(timestamp)),
    createdAt: rowTime,
    updatedAt: readOnly(nullable(timestamp)),
    launchedAt: nullable(timestamp),
    terminatedAt: nullable(timestamp),
  },
};

function tagName(value: unknown): string {
  return String(objectOf(value, "Tag")["nova_object.data"].tag);
}

function lockedReason({ system_metadata }: Readonly<Record<string, unknown>>): string | null {
  const reason = isObject(system_metadata) ? system_metadata.locked_reason : undefined;
  return typeof reason === "string" ? reason : null;
}
