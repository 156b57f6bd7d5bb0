import { createRequire } from "node:module";
import { isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { whyNotApi } from "./api-version.js";
import { type DriverDefinition, VIRT_API_VERSION } from "./driver.js";
import { describe } from "./driver-error.js";
import { InvalidDriver } from "./errors.js";
import { assertValidSchema } from "./schema-rules.js";
import { placeOf } from "./stack-place.js";
import { suggest } from "./suggest.js";

/** Modules that come with the product, by driver name, loaded when asked for: `() => import("…")`. */
export type BuiltInDrivers = Readonly<Record<string, () => Promise<unknown>>>;

export interface LoadDriverOptions {
  readonly builtIns: BuiltInDrivers;
  /** Absolute folder that paths and installed packages are looked up from. */
  readonly cwd: string;
  /** By names of drivers of nova-compute, what to use in their place. */
  readonly novaDrivers?: Readonly<Record<string, string>>;
}

/** What a driver's module exports. */
export interface LoadedDriver {
  readonly driver: DriverDefinition;
  /** How it is to be checked, as it stands there; undefined: the module does not say. */
  readonly check: unknown;
  /** Absolute path of the module; null: it is built in, or was found by its package's name alone. */
  readonly file: string | null;
}

/**
 * Finds a driver by the value of `compute_driver`: a built-in name, a path (`./x`, `../x`, `/x`), or an npm package.
 * The module exports its definition as `driver`.
 * @throws {InvalidDriver} saying what was tried, or which rule of the contract the module breaks.
 */
export async function loadDriver(name: string, options: LoadDriverOptions): Promise<LoadedDriver> {
  assertNotNovaDriver(name, options.novaDrivers ?? {});
  const tried: string[] = [];
  for (const [what, find] of ways(name, options)) {
    let loaded: unknown;
    let file: string | null;
    try {
      const found = find();
      file = typeof found === "string" ? found : null;
      loaded = await (typeof found === "string" ? import(pathToFileURL(found).href) : found());
    } catch (error) {
      tried.push(`${what}: ${reasonOf(error)}`);
      continue;
    }
    const definition = definitionIn(loaded, what);
    if (!Object.hasOwn(options.builtIns, name)) {
      assertNotBuiltInName(definition, what, options.builtIns);
      assertValidSchema(definition, what);
    }
    return { driver: definition, check: exported(loaded, "check"), file };
  }
  throw new InvalidDriver(
    `compute_driver ${name} cannot be loaded${suggest(name, Object.keys(options.builtIns)) || "."} Tried: ${tried.join("; ")}. ` +
      `Built in are: ${Object.keys(options.builtIns).join(", ")}; else name an installed npm package, ` +
      "or a path that begins with ./ or /",
  );
}

/** @throws {InvalidDriver} the name is that of a Python class, as `libvirt.LibvirtDriver` or `nova.virt.libvirt.LibvirtDriver`. */
function assertNotNovaDriver(name: string, novaDrivers: Readonly<Record<string, string>>): void {
  const short = name.replace(/^nova\.virt\./, "").replace(/\.driver\.(?=\w+$)/, ".");
  if (Object.hasOwn(novaDrivers, short)) {
    throw new InvalidDriver(
      `compute_driver ${name} cannot be loaded: it is a Python class of nova-compute; ${novaDrivers[short]}`,
    );
  }
}

/** Finds the file of a module, or what loads one that is built in. */
type Way = readonly [what: string, find: () => string | (() => Promise<unknown>)];

function ways(name: string, { builtIns, cwd }: LoadDriverOptions): readonly Way[] {
  const builtIn = Object.hasOwn(builtIns, name) ? builtIns[name] : undefined;
  if (builtIn) {
    return [[`built-in driver ${name}`, () => builtIn]];
  }
  const here = createRequire(join(cwd, "noop.js"));
  if (isAbsolute(name) || name.startsWith("./") || name.startsWith("../")) {
    const path = isAbsolute(name) ? name : join(cwd, name);
    return [[`path ${path}`, () => here.resolve(path)]];
  }
  return [
    [`npm package ${name} as seen from ${cwd}`, () => here.resolve(name)],
    // Packages that can only be imported, not required, are found when they are installed beside this one.
    [`npm package ${name} as seen from compute-agent`, () => () => import(name)],
  ];
}

function definitionIn(loaded: unknown, where: string): DriverDefinition {
  const found = exported(loaded, "driver");
  if (!isDefinition(found)) {
    throw new InvalidDriver(
      `${where}: expected an export named driver, made by defineDriver({ name, apiVersion, create }), but found ` +
        describe(found),
    );
  }
  assertContractVersion(found, where);
  return found;
}

/** A CommonJS module may hide its names behind `default`. */
function exported(loaded: unknown, name: string): unknown {
  if (typeof loaded !== "object" || loaded === null) {
    return undefined;
  }
  if (name in loaded) {
    return Reflect.get(loaded, name);
  }
  return "default" in loaded ? exported(loaded.default, name) : undefined;
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

function assertContractVersion({ name, apiVersion }: DriverDefinition, where: string): void {
  const reason = whyNotApi(apiVersion);
  if (reason !== null) {
    throw new InvalidDriver(
      `${where}: driver ${name} was written for version ${apiVersion} of the driver contract, but this compute-agent has ${VIRT_API_VERSION}: ${reason}`,
    );
  }
}

/** A driver that passes for another would take its section and its host. */
function assertNotBuiltInName({ name }: DriverDefinition, where: string, builtIns: BuiltInDrivers): void {
  if (Object.hasOwn(builtIns, name)) {
    throw new InvalidDriver(`${where}: its name ${name} is a built-in driver's; give it one of its own`);
  }
}

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
  const place = placeOf(error);
  return place === undefined ? message : `${message} (${place})`;
}
