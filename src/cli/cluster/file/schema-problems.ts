import { Ajv, type ErrorObject } from "ajv";
import type { Static, TObject } from "typebox";
import { didYouMean } from "../../../runtime/did-you-mean.js";
import type { Problem, TextPart } from "./file-text.js";

/** Compiles a schema once, however many files are read by it. */
const ajv = new Ajv({
  allErrors: true,
  strict: false,
  verbose: true,
  validateSchema: false,
  code: { optimize: false },
});

/** The value as what the schema describes. What is wrong with it is added to the list; the value is an empty one then. */
export function checkSchema<S extends TObject>(schema: S, text: TextPart, problems: Problem[]): Static<S> {
  // An empty file says nothing, which may be fine.
  const value = text.value ?? {};
  const validate = ajv.compile(schema);
  if (validate(value)) {
    return value as Static<S>;
  }
  const places = new Set<string>();
  for (const error of validate.errors ?? []) {
    // The branches of a choice that fails say less than the choice does.
    if (/\/anyOf\/\d/.test(error.schemaPath)) {
      continue;
    }
    const problem = problemOf(error, text);
    const key = `${problem.line}:${problem.column}:${problem.text}`;
    if (!places.has(key)) {
      problems.push(problem);
    }
    places.add(key);
  }
  return {} as Static<S>;
}

function problemOf(error: ErrorObject, text: TextPart): Problem {
  const path = error.instancePath.split("/").slice(1).map(unescaped);
  const where = path.length === 0 ? "" : `${path.join(".")}: `;
  if (error.keyword === "additionalProperties") {
    const key = String(error.params.additionalProperty);
    const { properties = {}, patternProperties = {} } = error.parentSchema as Shape;
    const known = Object.keys(properties);
    const near = didYouMean(key, known);
    const patterns = Object.keys(patternProperties).map((pattern) => `names as ${pattern}`);
    const all = `expected ${[...known, ...patterns].join(", ")}`;
    const help = near === undefined ? all : `did you mean ${near}?`;
    return { ...text.place([...path, key], true), text: `${where}there is no ${key}; ${help}` };
  }
  if (error.keyword === "required") {
    const place = text.place(path);
    return { ...place, text: `${where}found no ${error.params.missingProperty}, expected one` };
  }
  return { ...text.place(path), text: `${where}found ${formatValue(error.data)}, expected ${expected(error)}` };
}

interface Shape {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly patternProperties?: Readonly<Record<string, unknown>>;
}

function expected({ keyword, params, data, message = "something else" }: ErrorObject): string {
  switch (keyword) {
    case "enum": {
      const known = (params.allowedValues as readonly unknown[]).map(String);
      const near = typeof data === "string" ? didYouMean(data, known) : undefined;
      return `one of ${known.join(", ")}${near === undefined ? "" : `; did you mean ${near}?`}`;
    }
    case "type":
      return [params.type]
        .flat()
        .map((type) => TYPES[String(type)] ?? type)
        .join(" or ");
    case "pattern":
      return `what matches ${params.pattern}`;
    case "anyOf":
      return "a text, a number, true or false, or a list of them";
    case "minItems":
      return `at least ${params.limit}`;
    case "maxItems":
      return `at most ${params.limit}`;
    case "minimum":
    case "exclusiveMinimum":
    case "maximum":
      return `a number ${params.comparison} ${params.limit}`;
    default:
      return message.replace(/^must (NOT )?(be |have )?/, (_all, not) => (not === undefined ? "" : "not "));
  }
}

const TYPES: Readonly<Record<string, string>> = {
  array: "a list",
  boolean: "true or false",
  integer: "a whole number",
  number: "a number",
  object: "a mapping",
  string: "a text (in quotes if it looks like a number)",
};

const unescaped = (step: string): string => step.replaceAll("~1", "/").replaceAll("~0", "~");

export function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
