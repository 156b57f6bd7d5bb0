import { isAbsolute } from "node:path";
import { driverRecordPath, readDriverRecord } from "../../agent/startup/driver-record.js";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import type { Files } from "../../runtime/files.js";
import type { HostSetting, HostSettings } from "./saved-hosts.js";

/**
 * The settings with the drivers that the agents themselves have recorded: a host may have changed its driver since, by hand. Where an
 * agent's record cannot be read, its start says so.
 */
export async function withBoundDrivers(
  files: Files,
  directory: Pick<StateDir, "agent">,
  savedSettings: HostSettings,
): Promise<HostSettings> {
  const bound = Object.entries(savedSettings).map(async ([host, setting]): Promise<readonly [string, HostSetting]> => {
    const path = driverRecordPath(directory.agent(host), host);
    const recorded = await readDriverRecord(files, path).catch(() => undefined);
    const driver = recorded?.computeDriver;
    // Without one of its own a host has what its configuration names, which may be changed there.
    const own = driver !== undefined && (setting.driver !== undefined || isAbsolute(driver));
    return [host, own ? { ...setting, driver } : setting];
  });
  return Object.fromEntries(await Promise.all(bound));
}
