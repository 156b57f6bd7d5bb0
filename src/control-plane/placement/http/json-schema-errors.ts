import { PythonFloat, type PythonValue } from "../../python/json.js";
import { findFailure } from "../../python/json-schema.js";
import { pformat, repr } from "../../python/repr.js";

/** Checks whether a string has the format `uuid`. Bodies and query strings have different rules. */
export type UuidFormat = (text: string) => boolean;

/**
 * Explains why a value is invalid, as `str()` of the error that Python's jsonschema 4.10 raises; undefined if it is
 * valid.
 * Uses jsonschema's best match of all errors, with the schema and the instance pretty-printed.
 */
export function explain(schema: object, value: PythonValue, uuid: UuidFormat): string | undefined {
  const best = findFailure(schema, value, (_, text) => typeof text !== "string" || uuid(text));
  if (best === undefined) {
    return undefined;
  }
  const schemaPath = index("schema", best.schemaPath.slice(0, -1));
  return [
    best.message,
    "",
    `Failed validating ${repr(best.keyword)} in ${schemaPath}:`,
    indent(pformat(pythonSchema(best.schema))),
    "",
    `On ${index("instance", best.path)}:`,
    indent(pformat(best.instance)),
  ].join("\n");
}

function index(container: string, path: readonly (string | number)[]): string {
  return container + path.map((part) => `[${repr(part)}]`).join("");
}

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => `    ${line}`)
    .join("\n");
}

/** Converts a schema to the Python object that upstream prints. */
function pythonSchema(schema: unknown): PythonValue {
  if (Array.isArray(schema)) {
    return schema.map(pythonSchema);
  }
  if (typeof schema === "object" && schema !== null) {
    return new Map(Object.entries(schema).map(([key, value]) => [key, pythonSchema(value)]));
  }
  if (typeof schema === "number" && schema > 1e30) {
    return new PythonFloat(schema);
  }
  if (typeof schema === "boolean" || typeof schema === "number" || typeof schema === "string") {
    return schema;
  }
  return null;
}
