import { parseIni } from "../../config/ini-file.js";
import { type Compiled, camel, type Option, type OptionTable, sectionKey } from "../../config/option.js";
import { PLACEMENT_SERVICE_OPTIONS } from "../../config/sections/placement-service-options.js";
import { isObject } from "../../runtime/collections.js";
import type { PolicyRule } from "../policy/rule-parser.js";
import type { CorsOptions, PlacementTuning, PolicyOptions } from "./options.js";

/** The options of placement.conf that the standalone server supports. */
export interface PlacementConfig {
  /** Undefined if the file does not set it. */
  readonly authStrategy: string | undefined;
  /** The path in `[placement_database] connection = sqlite:///…`; undefined if the file does not set it. */
  readonly databasePath: string | undefined;
  /** `[oslo_policy] policy_file`, relative to the folder of the configuration file. */
  readonly policyFile: string | undefined;
  readonly policy: Pick<PolicyOptions, "enforceScope" | "enforceNewDefaults">;
  readonly cors: CorsOptions | undefined;
  readonly placement: PlacementTuning;
}

function valueError(section: string, option: string, value: string, expected: string): Error {
  return new Error(`[${section}] ${option} = ${value}: expected ${expected}; correct it in the configuration file`);
}

/** Values by section and option. If an option is repeated, the last value applies. */
export type ConfigValues = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** @throws {Error} if a value is invalid */
export function placementConfig(values: ConfigValues): PlacementConfig {
  const { api, placementDatabase, placement, osloPolicy, cors } = compile(values);
  return {
    authStrategy: api.authStrategy ?? undefined,
    databasePath: databasePath(placementDatabase.connection),
    policyFile: osloPolicy.policyFile ?? undefined,
    policy: { enforceScope: osloPolicy.enforceScope, enforceNewDefaults: osloPolicy.enforceNewDefaults },
    cors: cors.allowedOrigin.length === 0 ? undefined : cors,
    placement: {
      incompleteConsumerProjectId: placement.incompleteConsumerProjectId,
      incompleteConsumerUserId: placement.incompleteConsumerUserId,
      randomizeAllocationCandidates: placement.randomizeAllocationCandidates,
      maxAllocationCandidates: placement.maxAllocationCandidates,
      generationStrategy: placement.allocationCandidatesGenerationStrategy,
    },
  };
}

/** Returns the configured value of each option, or its default. */
function compile(values: ConfigValues): Compiled<typeof PLACEMENT_SERVICE_OPTIONS> {
  const sections = Object.entries<OptionTable>(PLACEMENT_SERVICE_OPTIONS).map(([section, options]) => {
    const compiled = Object.entries(options).map(([name, definition]) => {
      const text = values.get(section)?.get(name);
      return [camel(name), text === undefined ? definition.default : parse(section, name, definition, text)];
    });
    return [sectionKey(section), Object.fromEntries(compiled)];
  });
  return Object.fromEntries(sections);
}

function parse(section: string, name: string, { type }: Option<unknown>, text: string): unknown {
  const value = type.parse([text]);
  if (value === undefined) {
    throw valueError(section, name, text, type.expected);
  }
  return value;
}

/**
 * Parses a file of oslo.config's format.
 * @throws {Error} if a line is invalid
 */
export function parseConfig(text: string, path: string): ConfigValues {
  const { assignments, problems } = parseIni(text, path);
  const [problem] = problems;
  if (problem !== undefined) {
    throw new Error(`${problem.path}, line ${problem.line}: ${problem.message}: "${problem.text}"; correct it`);
  }
  const sections = new Map<string, Map<string, string>>();
  for (const { section, option, value } of assignments) {
    const known = sections.get(section) ?? new Map<string, string>();
    sections.set(section, known.set(option, value.replace(/^(["'])(.*)\1$/, "$2")));
  }
  return sections;
}

/** Returns the rules of a policy file; none unless the file contains an object. */
export function policyRules(parsed: unknown): Readonly<Record<string, PolicyRule>> {
  return isObject(parsed) ? (parsed as Record<string, PolicyRule>) : {};
}

function databasePath(connection: string | null): string | undefined {
  if (connection === null) {
    return undefined;
  }
  const [, path] = /^sqlite:\/\/\/?(.*)$/.exec(connection) ?? [];
  if (path !== undefined) {
    return path === "" ? undefined : path;
  }
  throw valueError("placement_database", "connection", connection, "sqlite:///PATH");
}
