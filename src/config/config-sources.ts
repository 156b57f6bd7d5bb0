import { FileFailure, type Files } from "../runtime/files.js";
import { type IniFile, parseIni, type SyntaxProblem } from "./ini-file.js";

/** An option whose value cannot be used. */
export interface ValueProblem {
  /** `path:line`, the environment variable or the command-line option. */
  readonly origin: string;
  readonly section: string;
  readonly option: string;
  /** What was found; `****` for secrets. */
  readonly found: string;
  /** What is wrong with it, and what is allowed. */
  readonly reason: string;
}

/** Options have values that they cannot have. Lists all of them. */
export class ConfigFileValueError extends Error {
  override readonly name = "ConfigFileValueError";
  readonly problems: readonly ValueProblem[];

  constructor(problems: readonly ValueProblem[]) {
    const lines = problems.map(
      ({ origin, section, option, found, reason }) => `${origin}: [${section}] ${option} = ${found}: ${reason}`,
    );
    super(listed("the configuration has a wrong value", "the configuration has {n} wrong values", lines));
    this.problems = problems;
  }
}

/** Files are not in the format of nova.conf. Lists all places. */
class ConfigFileParseError extends Error {
  override readonly name = "ConfigFileParseError";
  readonly problems: readonly SyntaxProblem[];

  constructor(problems: readonly SyntaxProblem[]) {
    const lines = problems.map(
      ({ path, line, message, text }) => `${path}:${line}: ${message}: ${JSON.stringify(text)}`,
    );
    super(listed("a configuration file cannot be read", "configuration files cannot be read in {n} places", lines));
    this.problems = problems;
  }
}

/** A file named with `--config-file` cannot be opened. */
class ConfigFilesNotFoundError extends Error {
  override readonly name = "ConfigFilesNotFoundError";

  constructor(path: string, code: string) {
    super(
      `cannot open configuration file ${path} (${code}); correct --config-file, or leave it out to use the defaults`,
    );
  }
}

/** A folder named with `--config-dir` is not there. */
class ConfigDirNotFoundError extends Error {
  override readonly name = "ConfigDirNotFoundError";

  constructor(path: string) {
    super(`cannot find configuration folder ${path}; correct --config-dir, or leave it out to use the defaults`);
  }
}

/** An option given on the command line. */
export interface CommandLineValue {
  readonly section: string;
  readonly option: string;
  readonly value: string;
  /** How the operator wrote it: `--host`. */
  readonly flag: string;
}

/** Everything that is said about options, the weakest first: files in order, environment, command line. */
export interface ConfigSources {
  readonly files: readonly IniFile[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly commandLine: readonly CommandLineValue[];
}

export interface SourceLocations {
  /** `--config-file`, in order; absolute paths. */
  readonly configFiles?: readonly string[];
  /** `--config-dir`, in order; absolute paths. Their `*.conf` files come after `configFiles`, sorted by name. */
  readonly configDirs?: readonly string[];
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly commandLine?: readonly CommandLineValue[];
}

/**
 * Reads the files.
 * @throws {ConfigFilesNotFoundError | ConfigDirNotFoundError} @throws {ConfigFileParseError}
 */
export async function readConfigSources(files: Files, locations: SourceLocations): Promise<ConfigSources> {
  const paths = [...(locations.configFiles ?? [])];
  for (const folder of locations.configDirs ?? []) {
    paths.push(...(await filesOf(files, folder)));
  }
  const parsed = await Promise.all(paths.map(async (path) => parseIni(await readFile(files, path), path)));
  const problems = parsed.flatMap((file) => file.problems);
  if (problems.length > 0) {
    throw new ConfigFileParseError(problems);
  }
  return { files: parsed, environment: locations.environment ?? {}, commandLine: locations.commandLine ?? [] };
}

async function filesOf(files: Files, folder: string): Promise<string[]> {
  if ((await files.stat(folder))?.kind !== "folder") {
    throw new ConfigDirNotFoundError(folder);
  }
  const names = await files.list(folder);
  return names.filter((name) => name.endsWith(".conf")).map((name) => `${folder.replace(/\/+$/, "")}/${name}`);
}

async function readFile(files: Files, path: string): Promise<string> {
  try {
    return await files.read(path);
  } catch (error) {
    throw error instanceof FileFailure ? new ConfigFilesNotFoundError(path, error.code) : error;
  }
}

function listed(one: string, many: string, lines: readonly string[]): string {
  const [only] = lines;
  return lines.length === 1 && only !== undefined
    ? `${one}: ${only}`
    : [`${many.replace("{n}", String(lines.length))}:`, ...lines.map((line) => `  ${line}`)].join("\n");
}
