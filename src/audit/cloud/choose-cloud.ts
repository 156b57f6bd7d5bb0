import { isMap, LineCounter, type Pair, parseDocument, type YAMLMap } from "yaml";
import type { Files } from "../../runtime/files.js";
import { AuditError, isAuditError } from "../errors.js";
import { type CloudConfig, readCloudConfig, type Settings } from "./cloud-config.js";

/** A parsed clouds.yaml or secure.yaml, with line numbers for messages. */
interface Parsed {
  readonly path: string;
  readonly clouds: YAMLMap | undefined;
  readonly lineOf: (offset: number | undefined) => number;
}

interface Setting {
  readonly value: string;
  readonly place: string;
}

const securePath = (path: string): string => path.replace(/clouds(\.ya?ml)$/, "secure$1");

export interface CloudChoice {
  /** `--os-cloud`; overrides OS_CLOUD. */
  readonly cloud?: string;
  /** `--os-region-name` and `--os-interface`; override the file. */
  readonly region?: string;
  readonly interface?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home?: string;
  /**
   * The clouds.yaml of the local cluster and its cloud, for commands that name no cloud. With `requested`, the command
   * explicitly selects the local cluster.
   */
  readonly local: { readonly file: string; readonly cloud: string; readonly requested?: boolean };
}

/** Message if no cloud is named and there is no local one. */
const NO_CLOUD =
  'no cloud: name one of clouds.yaml with --os-cloud or OS_CLOUD, set OS_AUTH_URL and its like, or start one with "compute-agent up"';

/**
 * Selects a cloud in this order: a named cloud of clouds.yaml, the local cluster if it was requested, the OS_*
 * variables, the local cluster.
 * @throws {AuditError} @throws {AuditError}
 */
export async function chooseCloud(files: Files, choice: CloudChoice): Promise<CloudConfig> {
  const config = readCloudConfig(await chooseSettings(files, choice));
  return {
    ...config,
    ...(choice.region === undefined ? {} : { region: choice.region }),
    ...(choice.interface === undefined ? {} : { interface: choice.interface }),
  };
}

/** Reads the settings of the local cluster. Returns undefined if there is none or its file is unusable. */
export async function localCloud(files: Files, local: CloudChoice["local"]): Promise<CloudConfig | undefined> {
  try {
    return readCloudConfig(await localSettings(files, local));
  } catch (error) {
    if (isAuditError(error, "CloudConfigInvalid", "NoLocalCloud")) {
      return undefined;
    }
    throw error;
  }
}

async function chooseSettings(files: Files, choice: CloudChoice): Promise<Settings> {
  const { environment, cwd, home, local } = choice;
  const variable = (name: string): string | undefined => environment[name] || undefined;
  if (choice.cloud === undefined && local.requested === true) {
    return localSettings(files, local);
  }
  const cloud = choice.cloud ?? variable("OS_CLOUD");
  if (cloud !== undefined) {
    const configuredFile = variable("OS_CLIENT_CONFIG_FILE");
    const folders = searchPath(cwd, home).flatMap((folder) => [`${folder}/clouds.yaml`, `${folder}/clouds.yml`]);
    return readCloudsFile(files, configuredFile === undefined ? folders : [configuredFile, ...folders], cloud);
  }
  if (variable("OS_AUTH_URL") !== undefined) {
    return {
      name: "OS_* variables",
      get: (key) => variable(variableOf(key)),
      place: (key) => `environment variable ${variableOf(key)}`,
    };
  }
  return localSettings(files, local);
}

async function localSettings(files: Files, { file, cloud, requested }: CloudChoice["local"]): Promise<Settings> {
  if ((await files.readIfPresent(file)) !== undefined) {
    return readCloudsFile(files, [file], cloud);
  }
  throw new AuditError(
    "NoLocalCloud",
    requested === true ? `${file}: there is no local cluster; start one with "compute-agent up"` : NO_CLOUD,
  );
}

const variableOf = (key: string): string => `OS_${key.toUpperCase()}`;

/** Returns the folders that OpenStack's clients search, in this order. @param home the user's home, if there is one */
function searchPath(cwd: string, home: string | undefined): readonly string[] {
  return [cwd, ...(home === undefined ? [] : [`${home}/.config/openstack`]), "/etc/openstack"];
}

/**
 * Returns the settings of one cloud of clouds.yaml, merged with the secrets in secure.yaml.
 * @param name absent: the only cloud of the file
 * @throws {AuditError}
 */
async function readCloudsFile(files: Files, paths: readonly string[], name: string | undefined): Promise<Settings> {
  const main = await firstPresent(files, paths);
  if (main === undefined) {
    throw new AuditError("CloudConfigInvalid", `no clouds.yaml was found; searched ${paths.join(", ")}`);
  }
  const { path, clouds, lineOf } = main;
  if (clouds === undefined) {
    throw new AuditError("CloudConfigInvalid", `${path}:1: expected a mapping "clouds:" with named clouds`);
  }
  const names = clouds.items.map(({ key }) => String(key));
  const cloudName = name ?? (names.length === 1 ? names[0] : undefined);
  if (cloudName === undefined) {
    throw new AuditError(
      "CloudConfigInvalid",
      `${path}: contains the clouds ${names.join(", ")}; name one with --os-cloud`,
    );
  }
  const pair = clouds.items.find(({ key }) => String(key) === cloudName);
  if (!pair) {
    throw new AuditError(
      "CloudConfigInvalid",
      `${path}: expected a cloud ${cloudName}, found ${names.join(", ") || "none"}`,
    );
  }
  const secure = await firstPresent(files, paths.map(securePath));
  const values = new Map([...settingsIn(main, pair), ...settingsOf(secure, cloudName)]);
  const line = lineOf(rangeOf(pair));
  assertSupported(values, `${path}:${line}`);
  return {
    name: cloudName,
    get: (key) => values.get(key)?.value,
    place: (key) => values.get(key)?.place ?? `${path}:${line} (cloud ${cloudName})`,
  };
}

async function firstPresent(files: Files, paths: readonly string[]): Promise<Parsed | undefined> {
  for (const path of paths) {
    const text = await files.readIfPresent(path);
    if (text !== undefined) {
      return parse(path, text);
    }
  }
  return undefined;
}

function parse(path: string, text: string): Parsed {
  const lines = new LineCounter();
  // Without excerpts: the reported line may contain a password.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineOf = (offset: number | undefined): number => (offset === undefined ? 1 : lines.linePos(offset).line);
  const [error] = document.errors;
  if (error) {
    throw new AuditError("CloudConfigInvalid", `${path}:${lineOf(error.pos[0])}: not YAML (${error.code})`);
  }
  const clouds: unknown = isMap(document.contents) ? document.contents.get("clouds") : undefined;
  return { path, clouds: isMap(clouds) ? (clouds as YAMLMap) : undefined, lineOf };
}

function settingsOf(parsed: Parsed | undefined, name: string): ReadonlyMap<string, Setting> {
  const pair = parsed?.clouds?.items.find(({ key }) => String(key) === name);
  return parsed && pair ? settingsIn(parsed, pair) : new Map();
}

/** Returns the scalars of the cloud and of its `auth`, by key. */
function settingsIn(parsed: Parsed, pair: Pair): ReadonlyMap<string, Setting> {
  const { path, lineOf } = parsed;
  if (!isMap(pair.value)) {
    throw new AuditError(
      "CloudConfigInvalid",
      `${path}:${lineOf(rangeOf(pair))}: expected settings of cloud ${String(pair.key)}`,
    );
  }
  const found = new Map<string, Setting>();
  for (const item of pair.value.items) {
    const key = String(item.key);
    const place = `${path}:${lineOf(rangeOf(item))}`;
    if (key !== "auth") {
      const value = scalar(item);
      if (value !== undefined) {
        found.set(key, { value, place });
      }
      continue;
    }
    if (!isMap(item.value)) {
      throw new AuditError("CloudConfigInvalid", `${place}: expected a mapping below auth`);
    }
    for (const inner of item.value.items) {
      const at = `${path}:${lineOf(rangeOf(inner))}`;
      const value = scalar(inner);
      if (value === undefined) {
        throw new AuditError("CloudConfigInvalid", `${at}: expected text as auth.${String(inner.key)}`);
      }
      found.set(String(inner.key), { value, place: at });
    }
  }
  return found;
}

/** Returns a scalar as written, so that a password of digits retains leading zeros. */
function scalar({ value }: Pair): string | undefined {
  if (typeof value !== "object" || value === null || !("value" in value)) {
    return undefined;
  }
  const source = "source" in value && typeof value.source === "string" ? value.source : undefined;
  const content: unknown = value.value;
  if (content === null || typeof content === "object") {
    return undefined;
  }
  return typeof content === "string" ? content : (source ?? String(content));
}

function rangeOf({ key }: Pair): number | undefined {
  const range = typeof key === "object" && key !== null && "range" in key ? key.range : undefined;
  return Array.isArray(range) && typeof range[0] === "number" ? range[0] : undefined;
}

/** Rejects settings that would otherwise be ignored and would change which cloud is used or trusted. */
function assertSupported(values: ReadonlyMap<string, Setting>, place: string): void {
  if (values.has("profile") && !values.has("auth_url")) {
    throw new AuditError("CloudConfigInvalid", `${place}: profiles are not supported; put auth_url below auth`);
  }
}
