import { Ajv, type ErrorObject } from "ajv";
import type { Static, TObject } from "typebox";
import { isAlias, isCollection, isMap, isPair, LineCounter, type Node, parseDocument, visit } from "yaml";
import { didYouMean } from "../../../runtime/error-messages.js";
import type { Files } from "../../../runtime/files.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";

/** A position in the file, counted from 1. */
interface Place {
  readonly line: number;
  readonly column: number;
}

/** A problem at one position of the file. */
export interface Problem extends Place {
  readonly text: string;
}

type Path = readonly (string | number)[];

/** Maximum size of a file. */
const MAX_FILE_BYTES = 1024 * 1024;

/** Maximum number of aliases, since each may stand for a large structure. */
const MAX_ALIASES = 100;

const DEEPEST = 32;

/** A value of a file, with the positions of its parts. */
export interface TextPart {
  readonly value: unknown;
  /**
   * Returns the position of the value at a path, or of the nearest value above it.
   * @param ofKey the position of its key instead
   */
  place(path: Path, ofKey?: boolean): Place;
}

/** A YAML (or JSON) text, with the positions of its parts. */
class FileText implements TextPart {
  readonly value: unknown;
  /** Errors of the YAML syntax, and exceeded limits. */
  readonly problems: readonly Problem[];
  readonly #document: ReturnType<typeof parseDocument>;
  readonly #lines = new LineCounter();

  constructor(text: string) {
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false, stringKeys: true });
    const { errors } = this.#document;
    const broken = errors.map((error) => ({ ...this.#placeAt(error.pos[0]), text: error.message }));
    this.problems = broken.length > 0 ? broken : this.#excesses();
    this.value = this.problems.length > 0 ? undefined : this.#document.toJS({ maxAliasCount: MAX_ALIASES });
  }

  /** Returns the value of a key, as if it were a separate file. */
  part(key: string): TextPart {
    const { value } = this;
    const part = typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>)[key] : null;
    return { value: part, place: (path, ofKey) => this.place([key, ...path], ofKey) };
  }

  place(path: Path, ofKey = false): Place {
    let node = this.#document.contents as Node | null;
    let at = this.#placeAt(node?.range?.[0] ?? 0);
    path.forEach((step, index) => {
      const real = isAlias(node) ? node.resolve(this.#document) : node;
      const pair = isMap(real)
        ? real.items.find((item) => isPair(item) && String((item.key as { value?: unknown })?.value) === String(step))
        : undefined;
      const next = pair === undefined ? (isCollection(real) ? real.get(step, true) : undefined) : pair.value;
      const target = pair !== undefined && ofKey && index === path.length - 1 ? pair.key : (next ?? pair?.key);
      at = isNodeWithRange(target) ? this.#placeAt(target.range[0]) : at;
      node = (next as Node | null | undefined) ?? null;
    });
    return at;
  }

  /** Reports structures that would need unbounded time or memory. */
  #excesses(): readonly Problem[] {
    const found: Problem[] = [];
    let aliases = 0;
    visit(this.#document, (_key, node, path) => {
      const at = isNodeWithRange(node) ? this.#placeAt(node.range[0]) : { line: 1, column: 1 };
      aliases += isAlias(node) ? 1 : 0;
      const isDeep = path.length > 2 * DEEPEST;
      if (aliases > MAX_ALIASES || isDeep) {
        const what = isDeep ? `more than ${DEEPEST} levels` : `more than ${MAX_ALIASES} aliases (*name)`;
        found.push({ ...at, text: `found ${what}, expected less` });
        return visit.BREAK;
      }
      return undefined;
    });
    return found;
  }

  #placeAt(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

function isNodeWithRange(node: unknown): node is { readonly range: readonly [number, number, number] } {
  return typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range);
}

/** Maximum number of problems in a message. */
const MAX_PROBLEMS = 20;

/**
 * Reads a YAML file.
 * @param path name of the file in messages
 * @param help what to do if there is no such file
 * @throws {CommandError}
 */
export async function readFileText(path: string, absolute: string, files: Files, help: string): Promise<FileText> {
  const stat = await files.stat(absolute);
  if (stat?.kind !== "file") {
    throw new CommandError(
      ExitCode.usage,
      `${path}: ${stat === undefined ? "there is no such file" : "this is no file"}; ${help}`,
    );
  }
  if (stat.bytes > MAX_FILE_BYTES) {
    throw new CommandError(ExitCode.usage, `${path}: found ${stat.bytes} bytes, expected at most ${MAX_FILE_BYTES}`);
  }
  const text = new FileText(await files.read(absolute));
  assertNoProblems(path, text.problems);
  return text;
}

/** @throws {CommandError} There are problems. */
export function assertNoProblems(path: string, problems: readonly Problem[]): void {
  if (problems.length === 0) {
    return;
  }
  const sorted = problems.toSorted((one, other) => one.line - other.line || one.column - other.column);
  const lines = sorted.slice(0, MAX_PROBLEMS).map(({ line, column, text }) => `${path}:${line}:${column}: ${text}`);
  const more = sorted.length > MAX_PROBLEMS ? [`${path}: and ${sorted.length - MAX_PROBLEMS} more`] : [];
  throw new CommandError(ExitCode.usage, [...lines, ...more].join("\n"));
}

/** Shared, so that each schema is compiled only once. */
const ajv = new Ajv({
  allErrors: true,
  strict: false,
  verbose: true,
  validateSchema: false,
  code: { optimize: false },
});

/** Returns the value as the type of the schema. Adds problems to the list, and returns an empty value if there are any. */
export function checkSchema<S extends TObject>(schema: S, text: TextPart, problems: Problem[]): Static<S> {
  // An empty file is valid unless the schema requires a key.
  const value = text.value ?? {};
  const validate = ajv.compile(schema);
  if (validate(value)) {
    return value as Static<S>;
  }
  const places = new Set<string>();
  for (const error of validate.errors ?? []) {
    // The error of the choice itself is clearer than those of its branches.
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
  integer: "an integer",
  number: "a number",
  object: "a mapping",
  string: "a text (in quotes if it looks like a number)",
};

const unescaped = (step: string): string => step.replaceAll("~1", "/").replaceAll("~0", "~");

export function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
