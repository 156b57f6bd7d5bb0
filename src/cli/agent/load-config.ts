import { hostname } from "node:os";
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { readConfigSources } from "../../config/config-sources.js";
import {
  type CompiledNovaConfig,
  compileNovaConfig,
  type NovaConfig,
  optionsInQuery,
  withPresentNames,
} from "../../config/nova-config.js";
import { type StateDir, stateDir } from "../../control-plane/local/state-dir.js";
import { expandHosts } from "../../records/host-names.js";
import type { Files } from "../../runtime/files.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import type { Logger } from "../../runtime/runtime.js";
import type { DriverDefinition } from "../../virt/driver.js";
import { CommandError, ExitCode } from "../ui/exit-code.js";
import { optionsOf } from "./built-in-drivers.js";
import { DriverGuard, loadContained } from "./driver-guard.js";
import { type AgentCommandOptions, agentCommand, commandLineValues } from "./options.js";

/** The hosts of a process, with their configuration. */
export interface LoadedHosts {
  /** In the order of `--host`; at least one. */
  readonly names: readonly string[];
  readonly first: LoadedConfig;
  /**
   * Compiles a host's configuration. It is compiled again at each call, to save memory. @throws {ConfigError}
   * {CommandError}
   */
  of(host: string): LoadedConfig;
}

/** The configuration of one host. */
export interface LoadedConfig {
  readonly compiled: CompiledNovaConfig;
  readonly driver: DriverDefinition;
  /** The driver's own section of nova.conf. */
  readonly driverConfig: Readonly<Record<string, unknown>>;
  /** Absolute paths of the configuration files, including those of `--config-dir`. */
  readonly configFiles: readonly string[];
  readonly directory: StateDir;
  /** `--change-driver` */
  readonly changeDriver: boolean;
}

/**
 * Reads every source of options, finds the driver that they name, and compiles both tables of options, for one host.
 * @param guard contains a driver that is not built in; null: the driver is trusted
 * @throws {CommandError} `--host` names several.
 */
export async function loadConfig(
  options: AgentCommandOptions,
  files: Files,
  guard: DriverGuard | null,
): Promise<LoadedConfig> {
  const { names, first } = await loadHosts(options, files, guard);
  if (names.length > 1) {
    throw new CommandError(
      ExitCode.usage,
      `--host names ${names.length} hosts, expected one: --check and --dry-run need a single host, such as --host ${names[0]}`,
    );
  }
  return first;
}

/**
 * Loads the configuration of each host that `--host` names, as {@link loadConfig} does. Files are read once, and equal
 * sections are one object.
 */
export async function loadHosts(
  options: AgentCommandOptions,
  files: Files,
  guard: DriverGuard | null,
): Promise<LoadedHosts> {
  const cwd = process.cwd();
  const requestedHosts = options.host === undefined ? [] : expandHosts(options.host);
  const directory = stateDir(options.stateDir, cwd);
  const place = { stateDir: directory.root, hostname: hostname(), program: "agent" as const };
  const read = withPresentNames(
    await readConfigSources(files, {
      configFiles: options.configFile.map((path) => resolve(cwd, path)),
      configDirs: options.configDir.map((path) => resolve(cwd, path)),
      environment: process.env,
    }),
  );
  const baseSourcesOf = (host: string | undefined) => ({ ...read, commandLine: commandLineValues(options, host) });
  const { computeAgent, defaults } = compileNovaConfig(baseSourcesOf(requestedHosts[0]), place).config;
  const { computeDriver, transportUrl } = defaults;
  const inQuery = optionsInQuery(transportUrl);
  const sourcesOf = (host: string | undefined) => {
    const sources = baseSourcesOf(host);
    return { ...sources, commandLine: [...sources.commandLine, ...inQuery] };
  };
  const driver = await loadContained(computeDriver, cwd, guard, computeAgent.driverImportTimeout * 1000);
  const configFiles = read.files.map(({ path }) => path);
  const shared = new SharedSections();
  const owners = new Map<string, string>();
  const ofFirst = compileNovaConfig(sourcesOf(requestedHosts[0]), place, optionsOf(driver));
  const of = (host: string | undefined): LoadedConfig => {
    // Only the host name differs between two hosts.
    const compiled =
      host === undefined || host === requestedHosts[0] ? ofFirst : ofFirst.withText("DEFAULT", "host", host);
    const config = shared.over(withPlaceOfDriver(compiled.config, cwd));
    const driverConfig = shared.section("driver", compiled.section(driver.configSchema?.section ?? driver.name));
    assertStateNotShared(config, host, owners);
    return {
      compiled: { ...compiled, config },
      driver,
      driverConfig,
      configFiles,
      directory,
      changeDriver: options.changeDriver === true,
    };
  };
  const first = of(requestedHosts[0]);
  if (requestedHosts[1] !== undefined) {
    // Compiling a second host fills the cache with the sections that all hosts share.
    of(requestedHosts[1]);
  }
  return { names: requestedHosts.length === 0 ? [first.compiled.config.defaults.host] : requestedHosts, first, of };
}

/** @throws {CommandError} */
function assertStateNotShared(
  { defaults }: NovaConfig,
  requestedHost: string | undefined,
  owners: Map<string, string>,
): void {
  const { host, statePath } = defaults;
  if (requestedHost !== undefined && host !== requestedHost) {
    throw new CommandError(
      ExitCode.usage,
      `--host ${requestedHost} is overridden by another option, which sets ${host}; remove that option`,
    );
  }
  const owner = owners.get(statePath) ?? host;
  if (owner !== host) {
    throw new CommandError(
      ExitCode.usage,
      `hosts ${owner} and ${host} would share [DEFAULT] state_path = ${statePath}; each needs a separate one, such as state_path = ${statePath}/$host`,
    );
  }
  owners.set(statePath, host);
}

/** Deduplicates configuration values that are the same for many hosts. */
class SharedSections {
  readonly #known = new Map<string, object>();

  over(config: NovaConfig): NovaConfig {
    const sections = Object.entries(config).map(([name, section]) => [name, this.section(name, section)]);
    return Object.freeze(Object.fromEntries(sections)) as NovaConfig;
  }

  section<T extends object>(name: string, section: T): T {
    const known = this.#known.get(name);
    if (known === section) {
      return section;
    }
    if (known !== undefined && isDeepStrictEqual(known, section)) {
      return known as T;
    }
    this.#known.set(name, section);
    return section;
  }
}

/** Makes a driver's path absolute: the host's record of its driver is read from other folders. */
function withPlaceOfDriver(config: NovaConfig, cwd: string): NovaConfig {
  const { computeDriver } = config.defaults;
  return /^\.{1,2}\//.test(computeDriver)
    ? { ...config, defaults: { ...config.defaults, computeDriver: resolve(cwd, computeDriver) } }
    : config;
}

/**
 * Reads what agents with these arguments would read, to detect invalid options, files or drivers before anything is started.
 * @param each the arguments of each agent
 * @returns the agents' warnings, without duplicates
 * @throws as {@link loadHosts}
 */
export async function checkAgents(each: readonly (readonly string[])[]): Promise<readonly string[]> {
  const warnings = new Set<string>();
  const guard = new DriverGuard("compute-cluster");
  const command = agentCommand(async (options) => {
    const { compiled } = (await loadHosts(options, new NodeFiles(), guard)).first;
    for (const { message } of compiled.warnings) {
      warnings.add(message);
    }
  });
  const different = new Map(each.map((args) => [JSON.stringify(args), args]));
  for (const args of different.values()) {
    await command.parseAsync([...args], { from: "user" });
  }
  return [...warnings];
}

/**
 * Logs which options of nova.conf are ignored. The file of a real nova-compute has many options that an agent does not have.
 * Those that resemble none of ours are listed in one line.
 */
export function logWarnings(
  logger: Pick<Logger, "info" | "warn">,
  { config, warnings }: Pick<CompiledNovaConfig, "config" | "warnings">,
): void {
  const isNovas = config.defaults.transportUrl !== null;
  for (const { message, unknown } of warnings) {
    if (!isNovas || unknown === undefined) {
      logger.warn(message);
    }
  }
  const unknown = isNovas ? [...new Set(warnings.flatMap((warning) => warning.unknown ?? []))] : [];
  if (unknown.length > 0) {
    logger.info(`nova.conf has options that this agent does not use; ignored: ${unknown.join(", ")}`);
  }
}
