import { FileFailure, type Files } from "../runtime/files.js";
import { ConfigDirNotFoundError, ConfigFileParseError, ConfigFilesNotFoundError } from "./config-errors.js";
import { type IniFile, parseIni } from "./ini-file.js";

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
