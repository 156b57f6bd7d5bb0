import type { HostRow } from "../../../conductor-client/methods/hosts.js";
import { ExitCode } from "../../ui/exit-code.js";
import { type Column, renderTable } from "../../ui/table.js";
import { chosenHosts, type HostFlags, withCluster } from "./host-session.js";

/** Prints what is known of the hosts; without a name of all. */
export function listHosts(hosts: readonly string[], flags: HostFlags): Promise<number> {
  return withCluster(flags, async (session, { directory, runtime, terminal }) => {
    const rows = await session.call("list_hosts", { host: null });
    // One for all comparisons: `localeCompare` makes one for each.
    const byName = new Intl.Collator("en", { numeric: true });
    const chosen = chosenHosts(hosts, hosts.length === 0, rows, directory.root).toSorted((one, other) =>
      byName.compare(one.host, other.host),
    );
    terminal.print(
      flags.json === true
        ? JSON.stringify(chosen.map(viewOf), null, 2)
        : hostTable(chosen, runtime.clock.now(), terminal.columns),
    );
    return ExitCode.ok;
  });
}

/** For programs: times as ISO 8601. */
export function viewOf<T extends { readonly since: number | null }>({ since, ...rest }: T) {
  return { ...rest, since: since === null ? null : new Date(since).toISOString() };
}

/** @param now milliseconds since the epoch. @param width columns of the terminal. @internal for tests */
export function hostTable(rows: readonly HostRow[], now: number, width: number): string {
  const columns: readonly Column<HostRow>[] = [
    { title: "Host", value: ({ host }) => host },
    { title: "State", value: ({ state }) => state },
    { title: "Pid", value: ({ pid }) => pid?.toString() ?? "-", align: "right" },
    { title: "Process", value: ({ process }) => process ?? "-" },
    { title: "Driver", value: ({ driver }) => driverName(driver) },
    { title: "Since", value: ({ since }) => (since === null ? "-" : age(now - since)), align: "right" },
    { title: "Servers", value: ({ servers }) => String(servers), align: "right" },
    { title: "Reason", value: reasonOf, wraps: true },
  ];
  const hasReasons = rows.some((row) => reasonOf(row) !== "");
  return renderTable(hasReasons ? columns : columns.slice(0, -1), rows, width);
}

/** The last folder of a driver's path: the JSON has the whole path. */
function driverName(driver: string | null): string {
  return driver?.split("/").findLast((part) => part !== "") ?? "-";
}

function reasonOf({ state, reason, service, pid }: HostRow): string {
  const plain = state === "serving" && reason === `pid ${pid}` ? "" : reason;
  if (service === null || (service.enabled && !service.forcedDown)) {
    return plain;
  }
  const why = service.disabledReason === null || service.disabledReason === plain ? "" : `: ${service.disabledReason}`;
  const marks = [
    ...(service.enabled ? [] : [plain === service.disabledReason ? "disabled" : `disabled${why}`]),
    ...(service.forcedDown ? ["forced down"] : []),
  ];
  return [...(plain === "" ? [] : [plain]), ...marks].join("; ");
}

/** `12 s`, `5 min`, `3 h`, `9 d` */
function age(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [unit, size] = UNITS.find(([, each]) => seconds >= each * 2) ?? ["s", 1];
  return `${Math.floor(seconds / size)} ${unit}`;
}

const UNITS: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
];
