import { hostsInShort } from "../../../control-plane/local/host-summary.js";
import { type Change, fieldChanges } from "../../../control-plane/seed/change.js";
import { CONTROL_PLANE, type HostSetting, type HostSettings } from "../saved-hosts.js";
import { IRONIC_HOST, type UpOptions } from "../up-children.js";

/** Hosts have another driver than the file says. */
class DriversDiffer extends Error {
  override readonly name = "DriversDiffer";
}

/**
 * What becomes of hosts. @param before what they came up with, with the drivers that they are bound to @param servers by host
 * @throws {DriversDiffer} unless that is meant
 */
export function hostChanges(
  before: HostSettings,
  named: ReadonlyMap<string, HostSetting>,
  { changeDriver, remove, ironic = 0 }: Pick<UpOptions, "changeDriver" | "remove" | "ironic">,
  servers: ReadonlyMap<string, number>,
): readonly Change[] {
  const added: string[] = [];
  const changed = new Map<string, string[]>();
  const drivers = new Map<string, string[]>();
  for (const [host, setting] of named) {
    const saved = Object.hasOwn(before, host) ? before[host] : undefined;
    if (saved === undefined) {
      added.push(host);
      continue;
    }
    const [from, to] = [driverOf(saved), driverOf(setting)];
    if (from !== undefined && to !== undefined && from !== to) {
      put(drivers, `driver ${from} -> ${to}`, host);
    }
    const what = fieldChanges(fieldsOf(saved), fieldsOf(setting));
    if (what.length > 0) {
      put(changed, what.join(", "), host);
    }
  }
  if (drivers.size > 0 && changeDriver !== true) {
    const lines = [...drivers].map(([what, hosts]) => `${hostsInShort(hosts)}: ${what}`);
    throw new DriversDiffer(
      `hosts keep the driver that they have: ${lines.join("; ")}; say change_driver: true, or --change-driver, which is refused while they have servers`,
    );
  }
  const left = leftOut(before, named, ironic > 0);
  const busy = left.filter((host) => (servers.get(host) ?? 0) > 0);
  const gone = left.filter((host) => (servers.get(host) ?? 0) === 0);
  const change = (sign: Change["sign"], text: string, destroys = false): Change => ({ sign, text, destroys });
  return [
    ...(added.length === 0 ? [] : [change("+", `host ${hostsInShort(added)}`)]),
    ...[...changed].map(([what, hosts]) => change("~", `host ${hostsInShort(hosts)}: ${what}`)),
    ...(busy.length === 0
      ? []
      : [change("~", `host ${hostsInShort(busy)}: stays, disabled and down, for it has servers`)]),
    ...(gone.length === 0 ? [] : [change("-", `host ${hostsInShort(gone)}`, remove !== true)]),
  ];
}

/** Hosts that there were, and that the file does not name. The agent of bare-metal nodes comes and goes with these. */
function leftOut(before: HostSettings, named: ReadonlyMap<string, HostSetting>, hasNodes: boolean): readonly string[] {
  return Object.keys(before).filter(
    (host) => host !== CONTROL_PLANE && !(host === IRONIC_HOST && hasNodes) && !named.has(host),
  );
}

/** Undefined: a file says it, which may say another one by now. */
function driverOf({ driver, configFiles }: HostSetting): string | undefined {
  return driver ?? (configFiles.length === 0 ? "fake-libvirt" : undefined);
}

function fieldsOf({ driver, configFiles, options = [], release }: HostSetting): Readonly<Record<string, unknown>> {
  const values: Record<string, string> = {};
  for (const option of options) {
    const at = option.indexOf("=");
    const [name, value] = [option.slice(0, at), option.slice(at + 1)];
    values[name] = values[name] === undefined ? value : `${values[name]}, ${value}`;
  }
  return {
    driver: driver ?? "fake-libvirt",
    release,
    config_files: configFiles.length === 0 ? undefined : configFiles,
    ...values,
  };
}

function put(lists: Map<string, string[]>, key: string, host: string): void {
  const list = lists.get(key);
  if (list === undefined) {
    lists.set(key, [host]);
  } else {
    list.push(host);
  }
}
