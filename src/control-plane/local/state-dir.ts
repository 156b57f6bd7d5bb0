import { isAbsolute, join, resolve } from "node:path";
import { HOST_NAME_RULE, isHostName } from "../../records/host-names.js";
import type { Random } from "../../runtime/cryptography.js";
import { FileFailure, type Files } from "../../runtime/files.js";
import { ClusterError } from "../cluster-error.js";

/** Paths of a local cluster. */
export type StateDir = ReturnType<typeof stateDir>;

export const DEFAULT_STATE_DIR = ".compute-cluster";

/** @param path relative to `cwd` unless absolute */
export function stateDir(path: string, cwd: string) {
  const root = isAbsolute(path) ? path : resolve(cwd, path);
  const logs = join(root, "logs");
  return Object.freeze({
    root,
    /** The control plane's address and process; see {@link ClusterInfo}. */
    clusterFile: join(root, "cluster.json"),
    /** Token of agents for the conductor; mode 0600. */
    joinTokenFile: join(root, "join-token"),
    /** Credentials for clients; mode 0600. */
    cloudsFile: join(root, "clouds.yaml"),
    database: join(root, "state.sqlite"),
    /** Folder of image data. */
    glance: join(root, "glance"),
    /** TLS files for connections from other machines. */
    tls: Object.freeze({
      /** Key and certificate of the server; mode 0600. */
      server: join(root, "tls", "server.pem"),
      /** Key and certificate of the issuing authority; mode 0600. */
      authority: join(root, "tls", "authority.pem"),
      /** Certificate of the authority, for agents and clients. */
      ca: join(root, "tls", "ca.pem"),
    }),
    /** Configuration for agents on other machines: address, CA and join token; mode 0600. */
    joinConfig: join(root, "join.conf"),
    logs,
    /** Folder of the embedded Ironic, with its fault rules. */
    blockStorage: join(root, "block-storage"),
    ironic: join(root, "ironic"),
    /** nova.conf of an agent that manages the embedded Ironic's nodes; mode 0600. */
    ironicConfig: join(root, "ironic", "agent.conf"),
    /** Parent folder of the agents' folders. */
    agents: join(root, "agents"),
    /** Returns the `state_path` of a host's agent. @throws {ClusterError} `InvalidHostName` */
    agent: (host: string) => join(root, "agents", checked(host)),
    /** Parent folder of the hypervisors' folders. */
    hypervisors: join(root, "hypervisors"),
    /** Returns the folder of a host's `fake-libvirt` hypervisor. @throws {ClusterError} `InvalidHostName` */
    hypervisor: (host: string) => join(root, "hypervisors", checked(host)),
    /** @throws {ClusterError} `InvalidHostName` */
    log: (component: string) => join(logs, `${checked(component)}.log`),
  });
}

/** Returns the hosts whose agents have saved state. Rejected agents and mistyped names leave at most an empty folder. */
export async function hostsWithState(files: Files, { agents }: Pick<StateDir, "agents">): Promise<readonly string[]> {
  const names = await files.list(agents);
  const contents = await Promise.all(names.map((name) => files.list(join(agents, name))));
  return names.filter((_name, index) => (contents[index] ?? []).length > 0);
}

/** @throws {ClusterError} `InvalidHostName`: no path is derived from it */
function checked(host: string): string {
  if (!isHostName(host)) {
    throw new ClusterError("InvalidHostName", `found ${JSON.stringify(host)}, expected ${HOST_NAME_RULE}`);
  }
  return host;
}

/** Content of `cluster.json`, by which agents and commands find the control plane. */
export interface ClusterInfo {
  /** `http://127.0.0.1:8774` */
  readonly url: string;
  readonly pid: number;
  readonly machine: string;
  /** URL for other machines, such as `https://192.0.2.2:8775`; absent without an external listener. */
  readonly externalUrl?: string;
  /** Environment variables for OpenStack clients. For scripts; not read here. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Returns environment variables for OpenStack clients, with the cluster's administrator by default. */
export function clientEnvironment({ cloudsFile }: Pick<StateDir, "cloudsFile">, cloud = "devstack") {
  return { OS_CLIENT_CONFIG_FILE: cloudsFile, OS_CLOUD: cloud };
}

export const conductorUrl = (info: Pick<ClusterInfo, "url">): string => `${info.url.replace(/^http/, "ws")}/conductor`;

/** Returns undefined if the file is missing or invalid. */
export async function readClusterInfo(files: Files, directory: StateDir): Promise<ClusterInfo | undefined> {
  const text = await files.readIfPresent(directory.clusterFile);
  if (text === undefined) {
    return undefined;
  }
  try {
    const info = JSON.parse(text) as Partial<ClusterInfo> & { readonly outside?: unknown };
    // Files of releases up to 0.2 call it `outside`.
    const externalUrl = info.externalUrl ?? info.outside;
    return typeof info.url === "string" &&
      URL.canParse(info.url) &&
      typeof info.pid === "number" &&
      typeof info.machine === "string"
      ? {
          url: info.url,
          pid: info.pid,
          machine: info.machine,
          ...(typeof externalUrl === "string" && URL.canParse(externalUrl) ? { externalUrl } : {}),
        }
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the address of the control plane and the join token of its agents.
 * @throws {ClusterError} `NoLocalCloud`
 */
export async function readClusterAccess(
  files: Files,
  directory: StateDir,
): Promise<{ readonly info: ClusterInfo; readonly joinToken: string }> {
  const info = await readClusterInfo(files, directory);
  const joinToken = (await files.readIfPresent(directory.joinTokenFile))?.trim();
  if (info === undefined || joinToken === undefined || joinToken === "") {
    throw noClusterIn(directory);
  }
  return { info, joinToken };
}

export function noClusterIn({ root }: Pick<StateDir, "root">): ClusterError {
  return new ClusterError(
    "NoLocalCloud",
    `${root} has no cluster: "compute-agent up" starts one, "compute-agent list" lists others, which --name and --state-dir select`,
  );
}

/** Keeps passwords, tokens and private keys out of git. An existing file is not changed. @throws {FileFailure} */
export async function excludeFromGit(files: Files, root: string): Promise<void> {
  try {
    await files.create(join(root, ".gitignore"), "*\n");
  } catch (error) {
    if (!(error instanceof FileFailure && error.code === "EEXIST")) {
      throw error;
    }
  }
}

/** Creates the state directory and a test file in it, before anything is started. @throws {StateDirUnusable} */
export async function ensureUsable(files: Files, { root }: Pick<StateDir, "root">): Promise<void> {
  const trial = join(root, ".trial");
  try {
    const found = await files.stat(root);
    if (found !== undefined && found.kind !== "folder") {
      throw stateDirUnusable(root, "it is not a folder");
    }
    await files.makeFolder(root);
    await files.write(trial, "trial\n");
    await files.remove(trial);
    await excludeFromGit(files, root);
  } catch (error) {
    throw error instanceof FileFailure ? stateDirUnusable(root, error.message, { cause: error }) : error;
  }
}

function stateDirUnusable(root: string, reason: string, options?: ErrorOptions): ClusterError {
  const message = `the state directory ${root} cannot be used: ${reason}; fix that, or name another --state-dir`;
  return new ClusterError("StateDirUnusable", message, options);
}

/** Returns the token of agents for the conductor; the first start creates it in a file of mode 0600. */
export async function ensureJoinToken(files: Files, random: Random, directory: StateDir): Promise<string> {
  const known = (await files.readIfPresent(directory.joinTokenFile))?.trim();
  if (known !== undefined && known !== "") {
    return known;
  }
  const token = random.hex(32);
  await files.write(directory.joinTokenFile, `${token}\n`, { mode: 0o600 });
  return token;
}
