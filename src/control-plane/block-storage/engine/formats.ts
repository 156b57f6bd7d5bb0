import type { PythonValue } from "../../python/json.js";
import { pythonRepr } from "../../python/repr.js";
import { invalidInput } from "./block-storage-errors.js";

const UUID_TEXT = /^[0-9a-f]{32}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export function isUuidLike(value: unknown): boolean {
  return (
    typeof value === "string" &&
    UUID_TEXT.test(
      value
        .toLowerCase()
        .replace("urn:", "")
        .replace("uuid:", "")
        .replace(/^[{}]+|[{}]+$/g, "")
        .replaceAll("-", ""),
    )
  );
}

/** Checks the length of a text without its outer white space; the message is Cinder's. */
function lengthOf(name: string, min: number, value: PythonValue): true | string {
  if (typeof value !== "string") {
    return value === null ? true : `${name} is not a string or unicode`;
  }
  const { length } = value.trim();
  if (length < min) {
    return `${name} has a minimum character requirement of ${min}.`;
  }
  return length > 255 ? `${name} has ${length} characters, more than 255.` : true;
}

/** Formats values as a Python tuple. */
const pythonTuple = (values: readonly string[]): string => `(${values.map(pythonRepr).join(", ")})`;

interface StatusFormat {
  readonly title: string;
  readonly valid: readonly string[];
  /** How Python shows the valid ones. Default: a tuple. */
  readonly show?: (valid: readonly string[]) => string;
  /** Whether none is valid. */
  readonly isOptional?: true;
}

/** Creates the check of a status that administrators set. */
function statusIn({ title, valid, show = pythonTuple, isOptional }: StatusFormat) {
  return (value: PythonValue): true | string => {
    const isNone = value === null || value === "";
    const isValid = isNone ? isOptional === true : valid.includes(String(value).toLowerCase());
    const text = value === null ? "None" : String(value);
    return isValid || `${title}: ${text} is invalid, valid statuses are: ${show(valid)}.`;
  };
}

const VOLUME_STATUSES = [
  ...["creating", "available", "deleting", "error", "error_deleting", "error_managing", "managing", "attaching"],
  ...["in-use", "detaching", "maintenance", "restoring-backup", "error_restoring", "reserved", "awaiting-transfer"],
  ...["backing-up", "error_backing-up", "error_extending", "downloading", "uploading", "retyping", "extending"],
];

const SNAPSHOT_STATUSES = [
  ...["error", "available", "creating", "deleting", "deleted", "updating", "error_deleting", "unmanaging"],
  ...["backing-up", "restoring"],
];

const GROUP_SNAPSHOT_STATUSES = [
  ...["error", "available", "creating", "deleting", "deleted", "updating", "error_deleting"],
];

/** Checks the status of a group snapshot, whose errors begin with their exception. */
function groupSnapshotStatus(value: PythonValue): true | string {
  const found = statusIn({ title: "Group snapshot status", valid: GROUP_SNAPSHOT_STATUSES })(value);
  return found === true || `Invalid GroupSnapshot Status: ${found}`;
}

/** Whether Python takes a value as true. */
function isTruthy(value: PythonValue | undefined): boolean {
  return Array.isArray(value) ? value.length > 0 : value instanceof Map ? value.size > 0 : Boolean(value);
}

function resetBody(value: PythonValue): true | string {
  const names = ["status", "attach_status", "migration_status"];
  const hasAny = value instanceof Map && names.some((name) => isTruthy(value.get(name)));
  return hasAny || "Must specify 'status', 'attach_status' or 'migration_status' for update.";
}

const GROUP_STATUSES = [
  ...["error", "available", "creating", "deleting", "deleted", "updating", "in-use", "error_deleting"],
];

function groupStatus(value: PythonValue): true | string {
  const isValid = GROUP_STATUSES.includes(String(value).toLowerCase());
  const valid = pythonTuple(GROUP_STATUSES);
  return isValid || `Invalid Group Status: Group status: ${String(value)} is invalid, valid status are: ${valid}.`;
}

function required(name: string, value: PythonValue): true | string {
  if (value === null || value === "") {
    return `An invalid 'name' value was provided. The '${name}' can not be None.`;
  }
  return typeof value === "string" && value.trim() === ""
    ? `An invalid 'name' value was provided. The '${name}' can not be empty.`
    : true;
}

/** Cinder's formats of values. Each returns false, or the message of its own error. */
const FORMATS: Readonly<Record<string, (value: PythonValue) => boolean | string>> = {
  uuid: (value) => typeof value !== "string" || isUuidLike(value),
  name: (value) => required("name", value),
  name_skip_leading_trailing_spaces: (value) => {
    const isPresent = required("name", value);
    return isPresent === true ? lengthOf("name", 1, value) : isPresent;
  },
  name_non_mandatory_remove_white_spaces: (value) => lengthOf("name", 0, value),
  description_non_mandatory_remove_white_spaces: (value) => {
    const found = lengthOf("description", 0, value);
    return found === true || invalidInput(found).message;
  },
  base64: (value) => typeof value === "string" && BASE64.test(value.replaceAll(/\s/g, "")),
  group_status: groupStatus,
  group_snapshot_status: groupSnapshotStatus,
  volume_status: statusIn({ title: "Volume status", valid: VOLUME_STATUSES, isOptional: true }),
  volume_attach_status: statusIn({
    title: "Volume attach status",
    valid: ["attached", "detached"],
    show: pythonRepr,
    isOptional: true,
  }),
  volume_migration_status: statusIn({
    title: "Volume migration status",
    valid: ["migrating", "error", "success", "completing", "none", "starting"],
    isOptional: true,
  }),
  validate_volume_reset_body: resetBody,
  snapshot_status: statusIn({ title: "Snapshot status", valid: SNAPSHOT_STATUSES }),
  backup_status: statusIn({ title: "Backup status", valid: ["available", "error"], show: pythonRepr }),
  group_type: (value) => lengthOf("group_type", 1, value),
  availability_zone: (value) => lengthOf("availability_zone", 1, value),
  progress: (value) =>
    value === null || /^(?:100|\d{1,2})%?$/.test(String(value)) ? true : "progress must be an integer percentage",
  key_size: (value) =>
    value === null || /^-?\d+$/.test(String(value)) || invalidInput("key_size must be an integer.").message,
};

/** Checks a format; unknown formats accept every value. */
export function isFormat(format: string, value: PythonValue): boolean | string {
  return FORMATS[format]?.(value) ?? true;
}
