import { hostname } from "node:os";
import { resolve } from "node:path";
import { type StateDir, stateDir } from "../../cluster/local/state-dir.js";
import { readConfigSources } from "../../config/config-sources.js";
import { type CompiledNovaConfig, compileNovaConfig } from "../../config/nova-config.js";
import type { Files } from "../../runtime/files.js";
import type { DriverDefinition } from "../../virt/driver.js";
import { loadDriver } from "../../virt/load-driver.js";
import { BUILT_IN_DRIVERS, optionsOf } from "./built-in-drivers.js";
import { type AgentCommandOptions, commandLineValues } from "./options.js";

export interface LoadedConfig {
  readonly compiled: CompiledNovaConfig;
  readonly driver: DriverDefinition;
  /** The driver's own section of nova.conf. */
  readonly driverConfig: Readonly<Record<string, unknown>>;
  /** Absolute paths of the files in use, those of `--config-dir` too. */
  readonly configFiles: readonly string[];
  readonly directory: StateDir;
}

/** Reads every source of options, finds the driver they name, and compiles both their tables. */
export async function loadConfig(options: AgentCommandOptions, files: Files): Promise<LoadedConfig> {
  const cwd = process.cwd();
  const directory = stateDir(options.stateDir, cwd);
  const sources = await readConfigSources(files, {
    configFiles: options.configFile.map((path) => resolve(cwd, path)),
    configDirs: options.configDir.map((path) => resolve(cwd, path)),
    environment: process.env,
    commandLine: commandLineValues(options),
  });
  const place = { stateDir: directory.root, hostname: hostname() };
  const { computeDriver } = compileNovaConfig(sources, place).config.defaults;
  const driver = await loadDriver(computeDriver, { builtIns: BUILT_IN_DRIVERS, cwd });
  const compiled = compileNovaConfig(sources, place, optionsOf(driver));
  const driverConfig = compiled.section(driver.configSchema?.section ?? driver.name);
  return { compiled, driver, driverConfig, configFiles: sources.files.map(({ path }) => path), directory };
}
