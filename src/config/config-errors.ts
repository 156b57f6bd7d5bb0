import type { SyntaxProblem } from "./ini-file.js";

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
export class ConfigFileParseError extends Error {
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
export class ConfigFilesNotFoundError extends Error {
  override readonly name = "ConfigFilesNotFoundError";

  constructor(path: string, code: string) {
    super(
      `cannot open configuration file ${path} (${code}); correct --config-file, or leave it out to use the defaults`,
    );
  }
}

/** A folder named with `--config-dir` is not there. */
export class ConfigDirNotFoundError extends Error {
  override readonly name = "ConfigDirNotFoundError";

  constructor(path: string) {
    super(`cannot find configuration folder ${path}; correct --config-dir, or leave it out to use the defaults`);
  }
}

function listed(one: string, many: string, lines: readonly string[]): string {
  const [only] = lines;
  return lines.length === 1 && only !== undefined
    ? `${one}: ${only}`
    : [`${many.replace("{n}", String(lines.length))}:`, ...lines.map((line) => `  ${line}`)].join("\n");
}
