import { parseIni, type SyntaxProblem } from "../../config/ini-file.js";
import type { CorsOptions, PlacementTuning, PolicyOptions, PolicyRule } from "./options.js";

/** The options of placement.conf that the stand-alone server knows. */
export interface PlacementConfig {
  /** Undefined when none is named. */
  readonly authStrategy: string | undefined;
  /** A path, from `[placement_database] connection = sqlite:///…`; undefined when none is named. */
  readonly databasePath: string | undefined;
  /** `[oslo_policy] policy_file`, relative to the folder of the configuration file. */
  readonly policyFile: string | undefined;
  readonly policy: Pick<PolicyOptions, "enforceScope" | "enforceNewDefaults">;
  readonly cors: CorsOptions | undefined;
  readonly placement: PlacementTuning;
}

/** An option of a configuration file has a value that it cannot have. */
export class ConfigFileValueError extends Error {
  override readonly name = "ConfigFileValueError";

  constructor(section: string, option: string, value: string, expected: string) {
    super(`[${section}] ${option} = ${value}: expected ${expected}; correct it in the configuration file`);
  }
}

/** A configuration file is not of oslo.config's format. */
export class ConfigFileParseError extends Error {
  override readonly name = "ConfigFileParseError";

  constructor({ path, line, text, message }: SyntaxProblem) {
    super(`${path}, line ${line}: ${message}: "${text}"; correct it`);
  }
}

/** Values by section and option, as a file of oslo.config's format gives them; of repeated ones the last. */
export type ConfigValues = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** @throws {ConfigFileValueError} */
export function placementConfig(values: ConfigValues): PlacementConfig {
  const read = new Reader(values);
  return {
    authStrategy: read.text("api", "auth_strategy"),
    databasePath: databasePath(read.text("placement_database", "connection")),
    policyFile: read.text("oslo_policy", "policy_file"),
    policy: {
      enforceScope: read.boolean("oslo_policy", "enforce_scope", true),
      enforceNewDefaults: read.boolean("oslo_policy", "enforce_new_defaults", false),
    },
    cors: cors(read),
    placement: {
      incompleteConsumerProjectId: read.text("placement", "incomplete_consumer_project_id") ?? NO_ID,
      incompleteConsumerUserId: read.text("placement", "incomplete_consumer_user_id") ?? NO_ID,
      randomizeAllocationCandidates: read.boolean("placement", "randomize_allocation_candidates", false),
      maxAllocationCandidates: read.integer("placement", "max_allocation_candidates", -1),
      generationStrategy: strategy(read),
    },
  };
}

const NO_ID = "00000000-0000-0000-0000-000000000000";

/**
 * Reads a file of oslo.config's format.
 * @throws {ConfigFileParseError}
 */
export function parseConfig(text: string, path: string): ConfigValues {
  const { assignments, problems } = parseIni(text, path);
  const [problem] = problems;
  if (problem !== undefined) {
    throw new ConfigFileParseError(problem);
  }
  const sections = new Map<string, Map<string, string>>();
  for (const { section, option, value } of assignments) {
    const known = sections.get(section) ?? new Map<string, string>();
    sections.set(section, known.set(option, value.replace(/^(["'])(.*)\1$/, "$2")));
  }
  return sections;
}

/** The rules of a policy file that holds an object; anything else has none. */
export function policyRules(parsed: unknown): Readonly<Record<string, PolicyRule>> {
  return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed)
    ? (parsed as Record<string, PolicyRule>)
    : {};
}

class Reader {
  readonly #values: ConfigValues;

  constructor(values: ConfigValues) {
    this.#values = values;
  }

  text(section: string, option: string): string | undefined {
    return this.#values.get(section)?.get(option);
  }

  list(section: string, option: string, otherwise: readonly string[]): readonly string[] {
    const text = this.text(section, option);
    if (text === undefined) {
      return otherwise;
    }
    return text
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== "");
  }

  boolean(section: string, option: string, otherwise: boolean): boolean {
    const text = this.text(section, option);
    if (text === undefined) {
      return otherwise;
    }
    if (/^(?:true|1|on|yes)$/i.test(text)) {
      return true;
    }
    if (/^(?:false|0|off|no)$/i.test(text)) {
      return false;
    }
    throw new ConfigFileValueError(section, option, text, "true or false");
  }

  integer(section: string, option: string, otherwise: number): number {
    const text = this.text(section, option);
    if (text === undefined) {
      return otherwise;
    }
    if (/^-?[0-9]+$/.test(text)) {
      return Number(text);
    }
    throw new ConfigFileValueError(section, option, text, "an integer");
  }
}

function cors(read: Reader): CorsOptions | undefined {
  const allowedOrigin = read.list("cors", "allowed_origin", []);
  if (allowedOrigin.length === 0) {
    return undefined;
  }
  const methods = ["OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "PATCH"];
  return {
    allowedOrigin,
    allowCredentials: read.boolean("cors", "allow_credentials", true),
    exposeHeaders: read.list("cors", "expose_headers", []),
    maxAge: read.integer("cors", "max_age", 3600),
    allowMethods: read.list("cors", "allow_methods", methods),
    allowHeaders: read.list("cors", "allow_headers", []),
  };
}

function strategy(read: Reader): PlacementTuning["generationStrategy"] {
  const option = "allocation_candidates_generation_strategy";
  const text = read.text("placement", option) ?? "depth-first";
  if (text === "depth-first" || text === "breadth-first") {
    return text;
  }
  throw new ConfigFileValueError("placement", option, text, "depth-first or breadth-first");
}

function databasePath(connection: string | undefined): string | undefined {
  if (connection === undefined || connection === "") {
    return undefined;
  }
  const [, path] = /^sqlite:\/\/\/?(.*)$/.exec(connection) ?? [];
  if (path !== undefined) {
    return path === "" ? undefined : path;
  }
  throw new ConfigFileValueError("placement_database", "connection", connection, "sqlite:///PATH");
}
