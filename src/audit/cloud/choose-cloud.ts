import type { Files } from "../../runtime/files.js";
import type { CloudConfig } from "./cloud-config.js";
import { readCloudsFile, searchPath } from "./clouds-file.js";
import { CloudConfigInvalid, NoLocalCloud } from "./errors.js";
import { readCloudConfig, type Settings } from "./settings.js";

export interface CloudChoice {
  /** `--os-cloud`; wins over OS_CLOUD. */
  readonly cloud?: string;
  /** `--os-region-name`, `--os-interface`; win over the file. */
  readonly region?: string;
  readonly interface?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home?: string;
  /** clouds.yaml of the local cluster, and its cloud: for a command that names none, or that `asked` for this one. */
  readonly local: { readonly file: string; readonly cloud: string; readonly requested?: boolean };
}

/** Nothing says which cloud, and there is no local one. */
const NO_CLOUD =
  'no cloud: name one of clouds.yaml with --os-cloud or OS_CLOUD, set OS_AUTH_URL and its like, or start one with "compute-cluster up"';

/**
 * A named cloud comes from clouds.yaml; otherwise the local cluster that was asked for; otherwise what the OS_* variables
 * say; otherwise the local cluster.
 * @throws {CloudConfigInvalid} @throws {NoLocalCloud}
 */
export async function chooseCloud(files: Files, choice: CloudChoice): Promise<CloudConfig> {
  const config = readCloudConfig(await chooseSettings(files, choice));
  return {
    ...config,
    ...(choice.region === undefined ? {} : { region: choice.region }),
    ...(choice.interface === undefined ? {} : { interface: choice.interface }),
  };
}

/** Reads the local cluster's own settings; undefined: there is no local cluster, or its file cannot be used. */
export async function localCloud(files: Files, local: CloudChoice["local"]): Promise<CloudConfig | undefined> {
  try {
    return readCloudConfig(await localSettings(files, local));
  } catch (error) {
    if (error instanceof CloudConfigInvalid || error instanceof NoLocalCloud) {
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
  throw new NoLocalCloud(
    requested === true ? `${file}: there is no local cluster; start one with "compute-cluster up"` : NO_CLOUD,
  );
}

const variableOf = (key: string): string => `OS_${key.toUpperCase()}`;
