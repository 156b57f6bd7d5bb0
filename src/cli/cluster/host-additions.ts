import { join } from "node:path";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import { expandHosts } from "../../records/host-range.js";
import type { Files } from "../../runtime/files.js";
import { type HostSetting, isSetting } from "./saved-hosts.js";

/** Hosts that `compute-cluster host add` wants, for `compute-cluster up` to read. */
export interface HostAddition {
  /** A text of ranges. */
  readonly hosts: string;
  readonly setting: HostSetting;
}

const pathOf = ({ root }: Pick<StateDir, "root">, id: string): string => join(root, "additions", `${id}.json`);

/**
 * Writes an addition into the state directory: what a host's process is started with, a driver's path among it, comes from
 * those who may write there, and never over a connection.
 */
export async function writeAddition(
  files: Files,
  directory: Pick<StateDir, "root">,
  id: string,
  addition: HostAddition,
): Promise<void> {
  await files.write(pathOf(directory, id), JSON.stringify(addition), { mode: 0o600 });
}

export async function removeAddition(files: Files, directory: Pick<StateDir, "root">, id: string): Promise<void> {
  await files.remove(pathOf(directory, id));
}

/** @throws {Error} there is none of this id, or it is not readable as one. */
export async function readAddition(
  files: Files,
  directory: Pick<StateDir, "root">,
  id: string,
): Promise<{ readonly hosts: readonly string[]; readonly setting: HostSetting }> {
  const path = pathOf(directory, id);
  const text = await files.readIfPresent(path);
  if (text === undefined) {
    throw new Error(
      `there is no ${path}: hosts are added by compute-cluster host add, on the machine of the state directory`,
    );
  }
  const { hosts, setting } = JSON.parse(text) as Partial<HostAddition>;
  if (typeof hosts !== "string" || !isSetting(setting)) {
    throw new Error(`${path} holds ${text.slice(0, 40)}, expected {"hosts": "a[1-3]", "setting": {"configFiles": []}}`);
  }
  return { hosts: expandHosts(hosts), setting };
}
