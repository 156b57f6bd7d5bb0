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

function oneOf(title: string, values: readonly string[]): (value: PythonValue) => true | string {
  return (value) =>
    values.includes(String(value))
      ? true
      : invalidInput(`${title}: ${String(value)} is invalid, valid status are: ${pythonRepr(values)}.`).message;
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
  description_non_mandatory_remove_white_spaces: (value) => lengthOf("description", 0, value),
  base64: (value) => typeof value === "string" && BASE64.test(value.replaceAll(/\s/g, "")),
  group_status: oneOf("Group status", [
    "error",
    "available",
    "creating",
    "deleting",
    "deleted",
    "updating",
    "error_deleting",
  ]),
  group_snapshot_status: oneOf("Group snapshot status", [
    "error",
    "available",
    "creating",
    "deleting",
    "deleted",
    "updating",
    "error_deleting",
  ]),
  group_type: (value) => lengthOf("group_type", 1, value),
  availability_zone: (value) => lengthOf("availability_zone", 1, value),
  progress: (value) =>
    value === null || /^(?:100|\d{1,2})%?$/.test(String(value)) ? true : "progress must be an integer percentage",
  key_size: (value) => value === null || /^\d+$/.test(String(value)) || "key_size must be non-negative.",
};

/** Checks a format; unknown formats accept every value. */
export function isFormat(format: string, value: PythonValue): boolean | string {
  return FORMATS[format]?.(value) ?? true;
}
