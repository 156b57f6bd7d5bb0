import { resolve } from "node:path";
import { foldHosts } from "../../../records/host-range.js";
import { checkAgents } from "../check-agents.js";
import { removeAddition, writeAddition } from "../host-additions.js";
import type { HostSetting } from "../saved-hosts.js";
import { hostArguments, isPath } from "../up-children.js";
import { controlAll, reportOutcomes, withHeartbeats } from "./host-control.js";
import { type HostFlags, InvalidHosts, withCluster } from "./host-session.js";

export interface AddFlags extends HostFlags {
  readonly driver?: string;
  readonly configFile: readonly string[];
  readonly option: readonly string[];
}

/** Starts hosts that the cluster has not had, and has each later `up` start them. @returns the exit code */
export function addHosts(hosts: readonly string[], flags: AddFlags): Promise<number> {
  return withCluster(flags, async (session, { directory, runtime, terminal }) => {
    if (hosts.length === 0) {
      throw new InvalidHosts("found no host, expected names or ranges such as rack[01-20]");
    }
    const setting = settingOf(flags);
    for (const warning of await checkAgents([["--state-dir", directory.root, ...hostArguments(setting)]])) {
      terminal.complain(`compute-cluster: warning: ${warning}`);
    }
    const id = runtime.random.uuid();
    await writeAddition(runtime.files, directory, id, { hosts: foldHosts(hosts), setting });
    try {
      await session.call("add_hosts", { addition: id });
    } finally {
      await removeAddition(runtime.files, directory, id);
    }
    const rows = new Map((await session.call("list_hosts", { host: null })).map((row) => [row.host, row]));
    const added = hosts.map((host) => rows.get(host)).filter((row) => row !== undefined);
    const outcomes = await withHeartbeats(await controlAll("start", added, session), session, { runtime, terminal });
    return reportOutcomes(outcomes, flags.json === true, terminal);
  });
}

function settingOf({ driver, configFile, option }: AddFlags): HostSetting {
  const resolvedDriver = driver !== undefined && isPath(driver) ? resolve(driver) : driver;
  return {
    ...(resolvedDriver === undefined ? {} : { driver: resolvedDriver }),
    configFiles: configFile.map((path) => resolve(path)),
    ...(option.length === 0 ? {} : { options: option }),
  };
}
