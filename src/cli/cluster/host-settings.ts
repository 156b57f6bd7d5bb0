import { isAbsolute, join } from "node:path";
import { driverRecordPath, readDriverRecord } from "../../agent/identity-file.js";
import type { StateDir } from "../../control-plane/local/state-dir.js";
import { expandHosts, foldHosts } from "../../records/host-names.js";
import { isRelease, type Release } from "../../records/index.js";
import { isObject } from "../../runtime/collections.js";
import { didYouMean, errorMessage } from "../../runtime/error-messages.js";
import { FileFailure, type Files } from "../../runtime/files.js";

/** The control plane's key among the settings of the hosts. */
export const CONTROL_PLANE = "control-plane";

/** The settings of one host's agent. A restart without them would find another hypervisor. */
export interface HostSetting {
  /** `compute_driver`; undefined: the configuration files name it. */
  readonly driver?: string;
  /** Absolute paths. */
  readonly configFiles: readonly string[];
  /** As `-o` takes them: `section.option=value`. */
  readonly options?: readonly string[];
  /** The agent's release; undefined: that of this build. */
  readonly release?: Release;
  /** Added by `compute-agent host add`: each `up` starts the host, whatever number of hosts it is started with. */
  readonly added?: true;
  /** Only for the control plane: the hosts of the last start, used by a start without a number of hosts. */
  readonly hosts?: readonly string[];
}

export type HostSettings = Readonly<Record<string, HostSetting>>;

/** The settings that `up` started hosts with, in the state directory. A later `up` reuses them. */
export class HostSettingsStore {
  readonly path: string;
  readonly #files: Files;
  #settings: Record<string, HostSetting> = {};
  /** The current write. Writes must not overlap, or the older content could win. */
  #written: Promise<void> = Promise.resolve();
  /** The next write, which has not begun and includes all changes until then. */
  #next: Promise<void> | undefined;

  constructor(files: Files, { root }: Pick<StateDir, "root">) {
    this.#files = files;
    this.path = join(root, "hosts.json");
  }

  /** @throws {Error} the file is unreadable */
  async read(): Promise<HostSettings> {
    const text = await this.#files.readIfPresent(this.path).catch((error: unknown) => {
      throw error instanceof FileFailure ? unreadable(this.path, error.message) : error;
    });
    this.#settings = text === undefined ? {} : parse(text, this.path);
    return this.#settings;
  }

  /** Saves the settings that the host was started with. */
  async keep(host: string, setting: HostSetting): Promise<void> {
    const before = this.get(host);
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(setting)) {
      return;
    }
    this.#settings[host] = setting;
    await this.#write();
  }

  /** Returns the settings of a host; undefined if the host is unknown. */
  get(host: string): HostSetting | undefined {
    return Object.hasOwn(this.#settings, host) ? this.#settings[host] : undefined;
  }

  get hosts(): readonly string[] {
    return Object.keys(this.#settings);
  }

  /** Adds a host to those that the next start includes, although this start did not include it. */
  async include(host: string): Promise<void> {
    await this.#setStarted((hosts) => [...new Set([...hosts, host])]);
  }

  /** Removes a host that no longer belongs to this cluster. */
  async forget(host: string): Promise<void> {
    if (this.get(host) !== undefined) {
      delete this.#settings[host];
      await this.#setStarted((hosts) => hosts.filter((each) => each !== host));
      await this.#write();
    }
  }

  async #setStarted(change: (hosts: readonly string[]) => readonly string[]): Promise<void> {
    const setting = this.get(CONTROL_PLANE);
    if (setting?.hosts !== undefined) {
      await this.keep(CONTROL_PLANE, { ...setting, hosts: change(setting.hosts) });
    }
  }

  #write(): Promise<void> {
    if (this.#next === undefined) {
      const write = () => {
        this.#next = undefined;
        return this.#files.write(this.path, `${JSON.stringify(this.#settings, null, 2)}\n`);
      };
      this.#next = this.#written.then(write, write);
      this.#written = this.#next;
    }
    return this.#next;
  }
}

function unreadable(path: string, reason: string): Error {
  return new Error(
    `${path}, which has the driver and configuration of each host, cannot be read: ${reason}; ` +
      "remove it, and pass the former --driver and --config-file",
  );
}

function parse(text: string, path: string): Record<string, HostSetting> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value) && Object.values(value).every(isSetting)) {
      return { ...(value as HostSettings) };
    }
  } catch (error) {
    throw unreadable(path, errorMessage(error));
  }
  throw unreadable(path, `found ${text.slice(0, 40)}, expected {"HOST": {"driver"?, "configFiles": []}}`);
}

function isSetting(value: unknown): value is HostSetting {
  return (
    isObject(value) &&
    (value.driver === undefined || typeof value.driver === "string") &&
    Array.isArray(value.configFiles) &&
    value.configFiles.every((file) => typeof file === "string") &&
    (value.options === undefined ||
      (Array.isArray(value.options) && value.options.every((one) => typeof one === "string"))) &&
    (value.release === undefined || (typeof value.release === "string" && isRelease(value.release))) &&
    (value.added === undefined || value.added === true) &&
    (value.hosts === undefined || (Array.isArray(value.hosts) && value.hosts.every((one) => typeof one === "string")))
  );
}

/**
 * Returns the settings with the drivers that the agents have recorded: a host's driver may have been changed by hand. An
 * unreadable record is ignored here, since the agent's start reports it.
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
    // A host without its own driver uses that of its configuration file, which may change.
    const own = driver !== undefined && (setting.driver !== undefined || isAbsolute(driver));
    return [host, own ? { ...setting, driver } : setting];
  });
  return Object.fromEntries(await Promise.all(bound));
}

/** Hosts requested by `compute-agent host add`, for `compute-agent up` to read. */
interface HostAddition {
  /** Host names and ranges. */
  readonly hosts: string;
  readonly setting: HostSetting;
}

const pathOf = ({ root }: Pick<StateDir, "root">, id: string): string => join(root, "additions", `${id}.json`);

/**
 * Writes an addition into the state directory. Settings such as the path of a driver must come from users with write access
 * there, never over a connection.
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

/** @throws {Error} There is no addition with this id, or it is unreadable. */
export async function readAddition(
  files: Files,
  directory: Pick<StateDir, "root">,
  id: string,
): Promise<{ readonly hosts: readonly string[]; readonly setting: HostSetting }> {
  const path = pathOf(directory, id);
  const text = await files.readIfPresent(path);
  if (text === undefined) {
    throw new Error(
      `there is no ${path}: hosts are added by compute-agent host add, on the machine of the state directory`,
    );
  }
  const { hosts, setting } = JSON.parse(text) as Partial<HostAddition>;
  if (typeof hosts !== "string" || !isSetting(setting)) {
    throw new Error(`${path} holds ${text.slice(0, 40)}, expected {"hosts": "a[1-3]", "setting": {"configFiles": []}}`);
  }
  return { hosts: expandHosts(hosts), setting };
}

/** Returns the message about a host that a state directory does not have. @param known the existing hosts */
export function unknownHost(host: string, root: string, known: readonly string[]): string {
  const near = didYouMean(host, known);
  const there = known.length === 0 ? 'it has none; "compute-agent up" starts some' : `there are ${foldHosts(known)}`;
  return `there is no host ${host} in ${root}; ${near === undefined ? there : `did you mean ${near}?`}`;
}
