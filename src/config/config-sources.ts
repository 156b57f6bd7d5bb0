import { FileFailure, type Files } from "../runtime/files.js";
import { type IniFile, parseIni } from "./ini-file.js";

/** An option with an invalid value. */
export interface ValueProblem {
  /** `path:line`, or the name of the environment variable or command-line option. */
  readonly origin: string;
  readonly section: string;
  readonly option: string;
  /** The value found; `****` for secrets. */
  readonly found: string;
  /** The problem, and the allowed values. */
  readonly reason: string;
}

export type ConfigErrorCode =
  /** Options have invalid values. The message lists all of them. */
  | "ConfigFileValueError"
  /** Files are not in the format of nova.conf. The message lists all errors. */
  | "ConfigFileParseError"
  /** A file of `--config-file` cannot be opened. */
  | "ConfigFilesNotFoundError"
  /** A folder of `--config-dir` does not exist. */
  | "ConfigDirNotFoundError"
  /** A `$name` cannot be replaced. It is reported as an invalid value. */
  | "UnknownReference";

/** The configuration cannot be used. The codes are oslo.config's names. */
export class ConfigError extends Error {
  readonly code: ConfigErrorCode;
  override readonly name: ConfigErrorCode;
  /** The invalid values of a ConfigFileValueError. */
  readonly problems: readonly ValueProblem[];

  constructor(code: ConfigErrorCode, message: string, problems: readonly ValueProblem[] = []) {
    super(message);
    this.code = code;
    this.name = code;
    this.problems = problems;
  }
}

/** Creates the error about invalid values. */
export function invalidValues(problems: readonly ValueProblem[]): ConfigError {
  const lines = problems.map(
    ({ origin, section, option, found, reason }) => `${origin}: [${section}] ${option} = ${found}: ${reason}`,
  );
  const message = listed("the configuration has a wrong value", "the configuration has {n} wrong values", lines);
  return new ConfigError("ConfigFileValueError", message, problems);
}

/** An option from the command line. */
export interface CommandLineValue {
  readonly section: string;
  readonly option: string;
  readonly value: string;
  /** The flag that the operator used: `--host`. */
  readonly flag: string;
}

/** All sources of options in ascending precedence: files in order, environment, command line. */
export interface ConfigSources {
  readonly files: readonly IniFile[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly commandLine: readonly CommandLineValue[];
}

export interface SourceLocations {
  /** Absolute paths of `--config-file`, in order. */
  readonly configFiles?: readonly string[];
  /** Absolute paths of `--config-dir`, in order. Their `*.conf` files follow `configFiles`, sorted by name. */
  readonly configDirs?: readonly string[];
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly commandLine?: readonly CommandLineValue[];
}

/**
 * Reads the configuration files.
 * @throws {ConfigError}
 */
export async function readConfigSources(files: Files, locations: SourceLocations): Promise<ConfigSources> {
  const paths = [...(locations.configFiles ?? [])];
  for (const folder of locations.configDirs ?? []) {
    paths.push(...(await filesOf(files, folder)));
  }
  const parsed = await Promise.all(paths.map(async (path) => parseIni(await readFile(files, path), path)));
  const problems = parsed.flatMap((file) => file.problems);
  if (problems.length > 0) {
    const lines = problems.map(
      ({ path, line, message, text }) => `${path}:${line}: ${message}: ${JSON.stringify(text)}`,
    );
    throw new ConfigError(
      "ConfigFileParseError",
      listed("a configuration file cannot be read", "configuration files cannot be read in {n} places", lines),
    );
  }
  return { files: parsed, environment: locations.environment ?? {}, commandLine: locations.commandLine ?? [] };
}

async function filesOf(files: Files, folder: string): Promise<string[]> {
  if ((await files.stat(folder))?.kind !== "folder") {
    throw new ConfigError(
      "ConfigDirNotFoundError",
      `cannot find configuration folder ${folder}; correct --config-dir, or leave it out to use the defaults`,
    );
  }
  const names = await files.list(folder);
  return names.filter((name) => name.endsWith(".conf")).map((name) => `${folder.replace(/\/+$/, "")}/${name}`);
}

async function readFile(files: Files, path: string): Promise<string> {
  try {
    return await files.read(path);
  } catch (error) {
    if (!(error instanceof FileFailure)) {
      throw error;
    }
    throw new ConfigError(
      "ConfigFilesNotFoundError",
      `cannot open configuration file ${path} (${error.code}); correct --config-file, or leave it out to use the defaults`,
    );
  }
}

function listed(one: string, many: string, lines: readonly string[]): string {
  const [only] = lines;
  return lines.length === 1 && only !== undefined
    ? `${one}: ${only}`
    : [`${many.replace("{n}", String(lines.length))}:`, ...lines.map((line) => `  ${line}`)].join("\n");
}
