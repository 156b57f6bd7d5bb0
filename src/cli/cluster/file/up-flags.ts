import { join, resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import type { Files } from "../../../runtime/files.js";
import { listenArguments, placeIn } from "../listen.js";
import { isPath, type UpOptions } from "../up-children.js";
import type { ClusterFile } from "./cluster-file.js";

/** A key of the file that corresponds to a flag of `up`. */
interface FlagKey {
  readonly key: keyof ClusterFile;
  /** The attribute name in commander. */
  readonly attribute: keyof UpOptions;
  readonly flag: string;
}

/**
 * All flags of `up`, except those about the file itself (`--file`, `--scenario`, `--check`, `--yes`) or about this start
 * only (`--detach`, `--json`). `hosts` also replaces `--releases`.
 */
export const UP_FLAGS: readonly FlagKey[] = [
  ...(
    [
      ["hosts", "hosts"],
      ["state_dir", "stateDir"],
      ["port", "port"],
      ["listen", "listen"],
      ["listen_without_tls", "listenWithoutTls"],
      ["processes", "processes"],
      ["hosts_per_process", "hostsPerProcess"],
      ["driver", "driver"],
      ["allow_resize_to_same_host", "allowResizeToSameHost"],
      ["reclaim_instance_interval", "reclaimInstanceInterval"],
      ["service_delete_policy", "serviceDeletePolicy"],
      ["log_requests", "logRequests"],
      ["log_format", "logFormat"],
      ["ironic", "ironic"],
      ["remove", "remove"],
      ["change_driver", "changeDriver"],
    ] as const
  ).map(([key, attribute]) => ({ key, attribute, flag: `--${key.replaceAll("_", "-")}` })),
  { key: "config_files", attribute: "configFile", flag: "--config-file" },
];

/** Returns the value that the flag would have; undefined if it would be absent. @param folder base of relative paths */
export function valueOfFlag(
  file: ClusterFile,
  key: keyof ClusterFile,
  folder: string,
): { readonly value: unknown } | { readonly problem: string } {
  switch (key) {
    case "hosts":
      return { value: 0 };
    case "state_dir":
      return { value: resolve(folder, file.state_dir ?? "") };
    case "driver":
      return { value: file.driver !== undefined && isPath(file.driver) ? resolve(folder, file.driver) : file.driver };
    case "config_files":
      return { value: (file.config_files ?? []).map((path) => resolve(folder, path)) };
    case "listen":
      try {
        return { value: placeIn(file.listen ?? "") };
      } catch (error) {
        if (!(error instanceof InvalidArgumentError)) {
          throw error;
        }
        return { problem: `found ${file.listen}, ${error.message}` };
      }
    case "ironic":
      return { value: file.ironic?.nodes };
    case "reclaim_instance_interval":
      return { value: String(file.reclaim_instance_interval) };
    default:
      // A flag that is off is absent.
      return { value: file[key] === false ? undefined : file[key] };
  }
}

/**
 * Flags of the cluster itself, as keys of a file. Flags with a one-time effect (`remove`, `change_driver`) are not included.
 */
export type SavedFlags = Pick<
  ClusterFile,
  | "port"
  | "listen"
  | "listen_without_tls"
  | "processes"
  | "hosts_per_process"
  | "allow_resize_to_same_host"
  | "reclaim_instance_interval"
  | "service_delete_policy"
  | "log_requests"
  | "log_format"
>;

export function flagsOf(options: UpOptions): SavedFlags {
  const { port, processes, hostsPerProcess, reclaimInstanceInterval: interval, serviceDeletePolicy: policy } = options;
  const [, place] = options.listen === undefined ? [] : listenArguments(options);
  const flags = {
    port,
    listen: place,
    listen_without_tls: options.listenWithoutTls,
    processes,
    hosts_per_process: hostsPerProcess,
    allow_resize_to_same_host: options.allowResizeToSameHost,
    reclaim_instance_interval: interval === undefined ? undefined : Number(interval),
    service_delete_policy: policy,
    log_requests: options.logRequests,
    log_format: options.logFormat,
  };
  return Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined)) as SavedFlags;
}

const pathOf = ({ root }: Pick<StateDir, "root">): string => join(root, "up.json");

/** Saves the flags of this `up`, for `compute-agent file` and the next start from a file. */
export async function keepFlags(options: UpOptions, directory: Pick<StateDir, "root">, files: Files): Promise<void> {
  await files.write(pathOf(directory), `${JSON.stringify(flagsOf(options), null, 2)}\n`);
}

/** Returns undefined if there was no start yet, or the saved flags are unreadable. */
export async function readSavedFlags(directory: Pick<StateDir, "root">, files: Files): Promise<SavedFlags | undefined> {
  try {
    const value: unknown = JSON.parse((await files.readIfPresent(pathOf(directory))) ?? "null");
    return typeof value === "object" && value !== null ? (value as SavedFlags) : undefined;
  } catch {
    return undefined;
  }
}
