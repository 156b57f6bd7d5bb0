import { createRequire } from "node:module";
import { isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { DriverOption } from "./config-schema.js";
import { type DriverDefinition, VIRT_API_VERSION } from "./driver.js";
import { describe, placeOf, suggest } from "./driver-error.js";
import { InvalidDriver } from "./errors.js";

/** Validity of default values by option type. */
const DEFAULTS: Readonly<
  Record<DriverOption["type"], { readonly what: string; readonly fits: (value: unknown) => boolean }>
> = {
  boolean: { what: "true or false", fits: (value) => typeof value === "boolean" },
  integer: { what: "a whole number", fits: Number.isSafeInteger },
  list: {
    what: "a list of strings",
    fits: (value) => Array.isArray(value) && value.every((item) => typeof item === "string"),
  },
  number: { what: "a number", fits: Number.isFinite },
  text: { what: "a string", fits: (value) => typeof value === "string" },
};

const TYPES: readonly string[] = Object.keys(DEFAULTS);

type Version = readonly [major: number, minor: number];

type Comparator = (compared: number) => boolean;

const COMPARATORS: Readonly<Record<string, Comparator>> = {
  ">=": (compared) => compared >= 0,
  ">": (compared) => compared > 0,
  "<=": (compared) => compared <= 0,
  "<": (compared) => compared < 0,
  "=": (compared) => compared === 0,
};

/** Modules of this package by driver name, loaded on demand: `() => import("…")`. */
export type BuiltInDrivers = Readonly<Record<string, () => Promise<unknown>>>;

export interface LoadDriverOptions {
  readonly builtIns: BuiltInDrivers;
  /** Absolute folder for the resolution of paths and installed packages. */
  readonly cwd: string;
  /** Replacements for drivers of nova-compute, by the Python class name. */
  readonly novaDrivers?: Readonly<Record<string, string>>;
}

/** The exports of a driver's module. */
export interface LoadedDriver {
  readonly driver: DriverDefinition;
  /** The export `check`, unvalidated: the settings for contract tests of the driver; undefined if there is none. */
  readonly check: unknown;
  /** Absolute path of the module; null for a built-in driver, or for a package that was imported by name. */
  readonly file: string | null;
}

/**
 * Finds a driver by the value of `compute_driver`: a built-in name, a path (`./x`, `../x`, `/x`), or an npm package. The
 * module exports its definition as `driver`.
 * @throws {InvalidDriver} with the attempted locations, or with the rule of the contract that the module violates.
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
      `Built-in drivers: ${Object.keys(options.builtIns).join(", ")}; otherwise use the name of an installed npm package, ` +
      "or a path that begins with ./ or /",
  );
}

/**
 * @throws {InvalidDriver} the name is a Python class such as `libvirt.LibvirtDriver` or `nova.virt.libvirt.LibvirtDriver`
 */
function assertNotNovaDriver(name: string, novaDrivers: Readonly<Record<string, string>>): void {
  const short = name.replace(/^nova\.virt\./, "").replace(/\.driver\.(?=\w+$)/, ".");
  if (Object.hasOwn(novaDrivers, short)) {
    throw new InvalidDriver(
      `compute_driver ${name} cannot be loaded: it is a Python class of nova-compute; ${novaDrivers[short]}`,
    );
  }
}

/** Returns the file of a module, or a loader of a built-in module. */
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
    // A package with only an `import` entry cannot be resolved; it is found if it is installed next to this package.
    [`npm package ${name} as seen from compute-agent`, () => () => import(name)],
  ];
}

function definitionIn(loaded: unknown, where: string): DriverDefinition {
  const found = exported(loaded, "driver");
  if (!isDefinition(found)) {
    throw new InvalidDriver(
      `${where}: expected an export named driver, created with defineDriver({ name, apiVersion, create }), but found ` +
        describe(found),
    );
  }
  assertContractVersion(found, where);
  return found;
}

/** Reads an export. A CommonJS module may have its exports on `default`. */
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

/** Rejects the name of a built-in driver: the plugin would use that driver's section and its host. */
function assertNotBuiltInName({ name }: DriverDefinition, where: string, builtIns: BuiltInDrivers): void {
  if (Object.hasOwn(builtIns, name)) {
    throw new InvalidDriver(`${where}: its name ${name} belongs to a built-in driver; choose another name`);
  }
}

/** Describes a load error, with its location in the plugin if known. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return describe(error);
  }
  const [message = error.name] = error.message.split("\n");
  if (/^Cannot find /.test(message)) {
    return /'[^']*\bdist\b[^']*'/.test(message) ? `${message}; has it been built? (npm run build)` : message;
  }
  // Node does not include the line of a syntax error.
  if (error instanceof SyntaxError) {
    return `SyntaxError: ${message} (node --check FILE shows the line)`;
  }
  const place = placeOf(error);
  return place === undefined ? message : `${message} (${place})`;
}

/**
 * Returns why a host with contract version `offered` cannot run a driver with `apiVersion` `required`; null if it can.
 * @internal
 */
export function whyNotApi(required: string, offered: string = VIRT_API_VERSION): string | null {
  const host = parse(offered) ?? [0, 0];
  const exact = parse(required);
  if (exact !== null) {
    return whyNotExact(exact, host);
  }
  const parts = required.trim().split(/\s+/).map(comparatorOf);
  if (parts.some((part) => part === null)) {
    return `apiVersion must look like ${offered}, or like ">=1.0 <2"`;
  }
  return parts.every((part) => part?.(host)) ? null : `${offered} is outside of that range`;
}

function whyNotExact([major, minor]: Version, [hostMajor, hostMinor]: Version): string | null {
  if (major === hostMajor && minor <= hostMinor) {
    return null;
  }
  const least = major === hostMajor ? `${hostMajor}.${hostMinor}` : `${hostMajor}.x`;
  return major >= hostMajor
    ? `install a newer compute-agent, or a driver for contract ${least}`
    : `install a newer version of the driver, written for contract ${hostMajor}.x`;
}

function comparatorOf(text: string): ((host: Version) => boolean) | null {
  const [, operator = "", rest = ""] = /^(>=|<=|>|<|=)(.+)$/.exec(text) ?? [];
  const bound = parse(rest.includes(".") ? rest : `${rest}.0`);
  const holds = COMPARATORS[operator];
  if (bound === null || holds === undefined) {
    return null;
  }
  return (host) => holds(host[0] === bound[0] ? host[1] - bound[1] : host[0] - bound[0]);
}

function parse(version: string): Version | null {
  const [, major, minor] = /^(\d+)\.(\d+)(?:\.\d+)?$/.exec(version) ?? [];
  return major === undefined || minor === undefined ? null : [Number(major), Number(minor)];
}

/**
 * Validates a plugin's schema before nova.conf is parsed with it, since a plugin may be plain JavaScript.
 * @throws {InvalidDriver}
 */
function assertValidSchema({ name, configSchema }: DriverDefinition, where: string): void {
  if (configSchema === undefined) {
    return;
  }
  const fail: (text: string) => never = (text) => {
    throw new InvalidDriver(`${where}: configSchema of driver ${name}: ${text}`);
  };
  const { section, options }: { readonly section: unknown; readonly options: unknown } = configSchema;
  if (typeof section !== "string" || !/^[a-z][a-z0-9_-]*$/i.test(section)) {
    fail(`section must be the name of a section of nova.conf, but found ${describe(section)}`);
  }
  if (String(section).toUpperCase() === "DEFAULT") {
    fail("section must be the driver's own, but found DEFAULT, which is the agent's");
  }
  if (typeof options !== "object" || options === null) {
    fail(`options must be an object, but found ${describe(options)}`);
  }
  for (const [option, declared] of Object.entries(options ?? {})) {
    const type: unknown = declared?.type;
    if (!isType(type)) {
      fail(
        `option ${option} has type ${describe(type)}, which does not exist${suggest(String(type), TYPES)}; known types are ${TYPES.join(", ")}`,
      );
    }
    const byDefault: unknown = declared?.default ?? null;
    const { what, fits } = DEFAULTS[type];
    if (byDefault !== null && !fits(byDefault)) {
      fail(`option ${option} of type ${type} has the default ${describe(byDefault)}, but it must be ${what}`);
    }
  }
}

function isType(type: unknown): type is DriverOption["type"] {
  return typeof type === "string" && TYPES.includes(type);
}
