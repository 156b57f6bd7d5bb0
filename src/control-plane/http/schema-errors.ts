import type { ErrorObject } from "ajv";
import { pythonRepr } from "../python/repr.js";

/** Returns the error that Python's jsonschema reports: the one nearest to the root, with alternatives as one error. */
export function reportedError(errors: readonly ErrorObject[]): ErrorObject | undefined {
  const topLevelErrors = errors.filter(({ schemaPath }) => !/\/(any|one)Of\/\d/.test(schemaPath));
  return nearest(topLevelErrors.length > 0 ? topLevelErrors : errors);
}

/** Returns the first of the errors nearest to the root; there may be thousands. */
function nearest(errors: readonly ErrorObject[]): ErrorObject | undefined {
  let best: ErrorObject | undefined;
  let depth = Number.POSITIVE_INFINITY;
  for (const error of errors) {
    const { length } = instancePathOf(error);
    if (length < depth) {
      [best, depth] = [error, length];
    }
  }
  return best;
}

export function instancePathOf({ instancePath }: ErrorObject): string[] {
  return instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/**
 * Returns the message of Python's jsonschema for an error. @param errors all errors, to list unexpected properties
 * together
 */
export function schemaWords(error: ErrorObject, errors: readonly ErrorObject[]): string {
  const { keyword, instancePath, data, params, schema } = error;
  if (keyword === "required") {
    return missingProperty(params.missingProperty);
  }
  if (keyword === "additionalProperties") {
    const same = errors.filter((other) => other.keyword === keyword && other.instancePath === instancePath);
    return unexpectedProperties([...new Set(same.map((one) => String(one.params.additionalProperty)))]);
  }
  return failureMessage(keyword, pythonRepr(data), schema);
}

export const missingProperty = (name: string): string => `${pythonRepr(name)} is a required property`;

export function unexpectedProperties(names: readonly string[]): string {
  const were = names.length === 1 ? "was" : "were";
  return `Additional properties are not allowed (${names.map(pythonRepr).join(", ")} ${were} unexpected)`;
}

/**
 * Returns the message of Python's jsonschema for a value that does not match a keyword.
 * @param found the value in Python's notation
 * @param limit the keyword's value in the schema
 */
export function failureMessage(keyword: string, found: string, limit: unknown): string {
  switch (keyword) {
    case "type":
      return `${found} is not of type ${[limit].flat().map(pythonRepr).join(", ")}`;
    case "enum":
      return `${found} is not one of ${pythonRepr(limit)}`;
    case "pattern":
      return `${found} does not match ${pythonRepr(limit)}`;
    case "format":
      return `${found} is not a ${pythonRepr(limit)}`;
    case "minLength":
    case "minItems":
      return `${found} is too short`;
    case "maxLength":
    case "maxItems":
      return `${found} is too long`;
    case "uniqueItems":
      return `${found} has non-unique elements`;
    case "minimum":
    case "minimumNumber":
      return `${found} is less than the minimum of ${pythonRepr(limit)}`;
    case "maximum":
    case "maximumNumber":
      return `${found} is greater than the maximum of ${pythonRepr(limit)}`;
    case "minProperties":
      return `${found} does not have enough properties`;
    case "maxProperties":
      return `${found} has too many properties`;
    default:
      return `${found} is not valid under any of the given schemas`;
  }
}
