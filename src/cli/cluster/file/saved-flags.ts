import { join } from "node:path";
import type { StateDir } from "../../../control-plane/local/state-dir.js";
import type { Files } from "../../../runtime/files.js";
import { listenArguments } from "../listen.js";
import type { UpOptions } from "../up-children.js";
import type { ClusterFile } from "./cluster-file.js";

/** How the cluster itself is started, in the keys of a file. What is done once (`remove`, `change_driver`) is no part of it. */
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

/** Keeps what this `up` was started with, for `compute-cluster file` and the next start from a file. */
export async function keepFlags(options: UpOptions, directory: Pick<StateDir, "root">, files: Files): Promise<void> {
  await files.write(pathOf(directory), `${JSON.stringify(flagsOf(options), null, 2)}\n`);
}

/** Undefined: none was started yet, or nobody can read what it was started with. */
export async function readSavedFlags(directory: Pick<StateDir, "root">, files: Files): Promise<SavedFlags | undefined> {
  try {
    const value: unknown = JSON.parse((await files.readIfPresent(pathOf(directory))) ?? "null");
    return typeof value === "object" && value !== null ? (value as SavedFlags) : undefined;
  } catch {
    return undefined;
  }
}
