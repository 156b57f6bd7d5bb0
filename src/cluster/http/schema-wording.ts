import type { ErrorObject } from "ajv";
import { pythonRepr } from "../python/plain-repr.js";

/**
 * What Python's jsonschema says of a value that a schema refuses; OpenStack's services pass it on.
 * @param same all errors of the same keyword in the same place; Ajv was told to be verbose
 */
export function schemaWording(error: ErrorObject, same: readonly ErrorObject[]): string {
  const { data, params, schema } = error;
  const found = pythonRepr(data);
  switch (error.keyword) {
    case "required":
      return `${pythonRepr(params.missingProperty)} is a required property`;
    case "additionalProperties": {
      const names = [...new Set(same.map((one) => pythonRepr(one.params.additionalProperty)))];
      return `Additional properties are not allowed (${names.join(", ")} ${names.length === 1 ? "was" : "were"} unexpected)`;
    }
    case "type":
      return `${found} is not of type ${[schema].flat().map(pythonRepr).join(", ")}`;
    case "enum":
      return `${found} is not one of ${pythonRepr(schema)}`;
    case "pattern":
      return `${found} does not match ${pythonRepr(schema)}`;
    case "format":
      return `${found} is not a ${pythonRepr(schema)}`;
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
      return `${found} is less than the minimum of ${pythonRepr(schema)}`;
    case "maximum":
    case "maximumNumber":
      return `${found} is greater than the maximum of ${pythonRepr(schema)}`;
    case "minProperties":
      return `${found} does not have enough properties`;
    case "maxProperties":
      return `${found} has too many properties`;
    default:
      return `${found} is not valid under any of the given schemas`;
  }
}
