import { createRequire } from "node:module";
import { isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type DriverDefinition, VIRT_API_VERSION } from "./driver.js";
import { describe } from "./driver-error.js";
import { InvalidDriver } from "./errors.js";

/** Modules that come with the product, by driver name, loaded when asked for: `() => import("…")`. */
export type BuiltInDrivers = Readonly<Record<string, () => Promise<unknown>>>;

export interface LoadDriverOptions {
  readonly builtIns: BuiltInDrivers;
  /** Absolute folder that paths and installed packages are looked up from. */
  readonly cwd: string;
}

/**
 * Finds a driver by the value of `compute_driver`: a built-in name, a path (`./x`, `../x`, `/x`), or an npm package.
 * The module exports its definition as `driver`.
 * @throws {InvalidDriver} saying what was tried, or which rule of the contract the module breaks.
 */
export async function loadDriver(name: string, options: LoadDriverOptions): Promise<DriverDefinition> {
  const tried: string[] = [];
  for (const [what, load] of ways(name, options)) {
    let loaded: unknown;
    try {
      loaded = await load();
    } catch (error) {
      tried.push(`${what}: ${reasonOf(error)}`);
      continue;
    }
    return definitionIn(loaded, what);
  }
  throw new InvalidDriver(
    `compute_driver ${name} cannot be loaded. Tried: ${tried.join("; ")}. ` +
      `Built in are: ${Object.keys(options.builtIns).join(", ")}; else name an installed npm package, ` +
      "or a path that begins with ./ or /",
  );
}

type Way = readonly [what: string, load: () => Promise<unknown>];

function ways(name: string, { builtIns, cwd }: LoadDriverOptions): readonly Way[] {
  const builtIn = Object.hasOwn(builtIns, name) ? builtIns[name] : undefined;
  if (builtIn) {
    return [[`built-in driver ${name}`, builtIn]];
  }
  const here = createRequire(join(cwd, "noop.js"));
  const resolved = async (id: string): Promise<unknown> => import(pathToFileURL(here.resolve(id)).href);
  if (isAbsolute(name) || name.startsWith("./") || name.startsWith("../")) {
    const path = isAbsolute(name) ? name : join(cwd, name);
    return [[`path ${path}`, () => resolved(path)]];
  }
  return [
    [`npm package ${name} as seen from ${cwd}`, () => resolved(name)],
    // Packages that can only be imported, not required, are found when they are installed beside this one.
    [`npm package ${name} as seen from compute-agent`, () => import(name)],
  ];
}

function definitionIn(loaded: unknown, where: string): DriverDefinition {
  const found = exported(loaded);
  if (!isDefinition(found)) {
    throw new InvalidDriver(
      `${where}: expected an export named driver, made by defineDriver({ name, apiVersion, create }), but found ` +
        describe(found),
    );
  }
  refuseOtherContract(found, where);
  return found;
}

/** A CommonJS module may hide its names behind `default`. */
function exported(loaded: unknown): unknown {
  if (typeof loaded !== "object" || loaded === null) {
    return undefined;
  }
  if ("driver" in loaded) {
    return loaded.driver;
  }
  return "default" in loaded ? exported(loaded.default) : undefined;
}

function isDefinition(value: unknown): value is DriverDefinition {
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    typeof value.name === "string" &&
    value.name !== "" &&
    "apiVersion" in value &&
    typeof value.apiVersion === "string" &&
    "create" in value &&
    typeof value.create === "function"
  );
}

function refuseOtherContract({ name, apiVersion }: DriverDefinition, where: string): void {
  const wanted = majorOf(apiVersion);
  const offered = majorOf(VIRT_API_VERSION);
  if (wanted === offered) {
    return;
  }
  const what = `${where}: driver ${name} was written for version ${apiVersion} of the driver contract, but this compute-agent has ${VIRT_API_VERSION}`;
  if (Number.isNaN(wanted)) {
    throw new InvalidDriver(`${what}: apiVersion must look like ${VIRT_API_VERSION}`);
  }
  throw new InvalidDriver(
    wanted > offered
      ? `${what}: install a newer compute-agent, or a driver for contract ${offered}.x`
      : `${what}: install a newer version of the driver, written for contract ${offered}.x`,
  );
}

const majorOf = (version: string): number => Number(/^(\d+)\.\d+(\.\d+)?$/.exec(version)?.[1] ?? Number.NaN);

/** What went wrong, and where in the plugin, if that is known. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return describe(error);
  }
  const [message = error.name] = error.message.split("\n");
  if (/^Cannot find /.test(message)) {
    return /'[^']*\bdist\b[^']*'/.test(message) ? `${message}; has it been built? (npm run build)` : message;
  }
  // Node keeps the line of a syntax error to itself.
  if (error instanceof SyntaxError) {
    return `SyntaxError: ${message} (node --check FILE shows the line)`;
  }
  const place = /^ +at .*?\(?(?:file:\/\/)?(\/[^()]+:\d+:\d+)\)?$/m.exec(error.stack ?? "")?.[1];
  return place === undefined ? message : `${message} (${place})`;
}
