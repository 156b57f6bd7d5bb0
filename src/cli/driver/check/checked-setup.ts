import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { errorMessage } from "../../../runtime/error-messages.js";
import { assertKnownWaivers, UnknownWaiver } from "../../../testing/check-driver.js";
import type { CheckPlace, DriverCheckOptions } from "../../../testing/options.js";
import { describe } from "../../../virt/driver-error.js";
import { InvalidDriver } from "../../../virt/errors.js";
import { compileDriverConfig, type DriverDefinition, InvalidConfiguration } from "../../../virt/index.js";
import { loadDriver } from "../../../virt/load-driver.js";
import { BUILT_IN_DRIVERS } from "../../agent/built-in-drivers.js";
import { CommandError, ExitCode } from "../../ui/exit-code.js";
import type { CheckCommandOptions } from "../rule-process.js";

/** A driver with the settings of its check. */
export interface CheckedSetup {
  readonly driver: DriverDefinition;
  readonly options: DriverCheckOptions;
  readonly verbose: boolean;
}

/**
 * Loads a driver and the settings of its check.
 * @throws {CommandError} the arguments name an unknown driver, rule or option; before any rule runs, instead of in each
 */
export async function openSetup(name: string, commandOptions: CheckCommandOptions): Promise<CheckedSetup> {
  try {
    const { driver, check } = await loadDriver(name, { builtIns: BUILT_IN_DRIVERS, cwd: process.cwd() });
    const own = () => (check === undefined ? {} : descriptionOf(check, name));
    const described = commandOptions.with === undefined ? own() : await descriptionIn(commandOptions.with);
    const config = (place: CheckPlace) => ({
      ...described.config?.(place),
      ...camelCased(optionsAt(place, commandOptions)),
    });
    const options: DriverCheckOptions = {
      ...described,
      time: commandOptions.virtualTime === true ? "virtual" : (described.time ?? "real"),
      waive: { ...described.waive, ...Object.fromEntries(commandOptions.waive ?? []) },
      config,
    };
    assertKnownWaivers(options);
    validateOptions(driver, optionsAt({ host: "check-host-1", folder: "/driver-check" }, commandOptions));
    return { driver, options, verbose: commandOptions.verbose === true };
  } catch (error) {
    if (error instanceof UnknownWaiver || error instanceof InvalidConfiguration || error instanceof InvalidDriver) {
      throw wrongSetup(error.message, error);
    }
    throw error;
  }
}

function optionsAt(
  { host, folder }: CheckPlace,
  { option = [] }: CheckCommandOptions,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    option.map(([name, value]) => [name, value.replaceAll("{host}", host).replaceAll("{folder}", folder)]),
  );
}

/** Converts names to camelCase, as in test descriptions, so that options of the command line replace those. */
function camelCased(options: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [camel(name), value]));
}

function wrongSetup(message: string, cause?: unknown): CommandError {
  return new CommandError(ExitCode.usage, message, { cause });
}

/** Loads a description as `describeDriver` accepts it. @throws {CommandError} */
async function descriptionIn(file: string): Promise<DriverCheckOptions> {
  const path = resolve(file);
  let loaded: unknown;
  try {
    loaded = await import(pathToFileURL(path).href);
  } catch (error) {
    throw wrongSetup(`--with ${file} cannot be loaded: ${errorMessage(error)}`);
  }
  const check = typeof loaded === "object" && loaded !== null && "check" in loaded ? loaded.check : undefined;
  return descriptionOf(check, `--with ${file}`);
}

function descriptionOf(check: unknown, where: string): DriverCheckOptions {
  if (typeof check !== "object" || check === null) {
    throw wrongSetup(
      `${where}: expected an export named check, with the options that describeDriver takes; found ${describe(check)}`,
    );
  }
  return check;
}

/** @throws {InvalidConfiguration} */
function validateOptions({ name, configSchema }: DriverDefinition, options: Readonly<Record<string, string>>): void {
  const known = Object.keys(configSchema?.options ?? {});
  const unknown = Object.keys(options).find((option) => !known.includes(option));
  if (unknown !== undefined) {
    const there = known.length === 0 ? "it has none" : `it has ${known.join(", ")}`;
    throw new InvalidConfiguration(`driver ${name} has no option ${unknown}; ${there}`);
  }
  if (configSchema) {
    compileDriverConfig(configSchema, options);
  }
}
