import { resolve } from "node:path";
import { InvalidArgumentError } from "commander";
import { placeIn } from "../listen.js";
import { isPath, type UpOptions } from "../up-children.js";
import type { ClusterFile } from "./cluster-file.js";

/** A key of the file that stands for a flag of `up`. */
interface FlagKey {
  readonly key: keyof ClusterFile;
  /** As commander calls it. */
  readonly attribute: keyof UpOptions;
  readonly flag: string;
}

/** Every flag of `up`, but those that are about the file itself (`--file`, `--scenario`, `--check`, `--yes`) or about this one start (`--detach`, `--json`). `hosts` stands for `--releases`, too. */
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

/** What the flag would be given; undefined: as if it were absent. @param folder that paths are relative to */
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
