import type { Command } from "commander";
import { openCloudSession } from "../../control-plane/local/cloud-session.js";
import {
  clusterStatus,
  type HostStatus,
  type ServerStatus,
  sumOfUsages,
} from "../../control-plane/local/cluster-status.js";
import { type ClusterSummary, clusterSummary } from "../../control-plane/local/cluster-summary.js";
import {
  type NetworkStatus,
  networkStatus,
  readActiveServers,
  serversWithDownPorts,
  withPorts,
} from "../../control-plane/local/network-status.js";
import { type VolumeStatus, volumeStatus } from "../../control-plane/local/volume-status.js";
import { type Column, renderTable, wrapWords } from "../ui/table.js";
import { type ClusterContext, clusterCommand, inCluster } from "./cluster-command.js";
import { noHostsText } from "./place.js";
import { hypervisorGuests, reportedGuests } from "./reported-guests.js";

/** Maximum number of hosts that are named; further ones are only counted. */
const NAMED = 20;

/** A host, or a provider without one. `nodes` is the number of the host's providers. */
interface TableRow extends HostStatus {
  readonly nodes: number;
}

type Provider = NonNullable<HostStatus["provider"]>;

const added = (one: Provider, other: Provider): Provider => ({ ...one, usages: sumOfUsages(one.usages, other.usages) });

/** Maximum number of hosts with a row each. */
const MAX_ROWS = 50;

/** Maximum number of servers in ERROR whose faults are printed, latest first. */
const MAX_FAULTS = 5;

export function statusCommand(): Command {
  return clusterCommand("status")
    .summary("Show hosts, usages, servers and guests in one table")
    .description(
      "Combines what the Compute API, Placement, fake-libvirt hypervisors and agents report of each host, including " +
        `providers without a host. Prints the faults of the last ${MAX_FAULTS} servers in ERROR. Guests are stale if the API ` +
        "has their server on another host. They are moving during a move to or from this host, for example until a resize " +
        "is confirmed. Below are the numbers of networks, ports, floating IPs and volumes, and ACTIVE servers with DOWN ports.",
    )
    .option("--all", `print all hosts; by default, clusters of more than ${MAX_ROWS} hosts are summarized`)
    .option("--json", "print all hosts as JSON")
    .action(inCluster(printStatus));
}

async function printStatus(
  { directory, runtime, terminal, stateDirOption }: ClusterContext,
  { all, json }: { readonly all?: true; readonly json?: true },
): Promise<void> {
  const session = await openCloudSession(runtime.files, runtime.http, directory);
  const summary = all === true || json === true ? null : await clusterSummary(session, MAX_ROWS, MAX_FAULTS);
  if (summary) {
    const networks = await networkStatus(session);
    const active = await readActiveServers(session, serversWithDownPorts(networks));
    const faults = faultText(summary.recentInError, summary.serversInError, terminal.columns);
    const volumes = volumeLine(await volumeStatus(session));
    terminal.print([summaryText(summary), ...networkLines(networks, active), volumes, ...faults].join("\n"));
    return;
  }
  const rows = await clusterStatus(session, await hypervisorGuests(directory, runtime), (hosts) =>
    reportedGuests(hosts, "status", { runtime, directory }),
  );
  const networks = await networkStatus(session);
  if (json === true) {
    terminal.print(JSON.stringify(withPorts(rows, networks), null, 2));
    return;
  }
  if (rows.length === 0) {
    terminal.print(noHostsText(stateDirOption));
    return;
  }
  const table = groupNodesByHost(rows);
  const text = renderTable(columnsFor(table), table, terminal.columns);
  const servers = rows.flatMap((row) => row.servers);
  const volumes = volumeLine(await volumeStatus(session));
  const faults = faultLines(rows, terminal.columns);
  terminal.print([text, ...networkLines(networks, servers), volumes, ...faults].join("\n"));
}

/** Returns the line about volumes. */
export function volumeLine({ volumes, inUse, inError, size }: VolumeStatus): string {
  const failed = inError === 0 ? "" : `, in error: ${inError}`;
  return `volumes: ${volumes}, in use: ${inUse}${failed}, size: ${size} GiB`;
}

/**
 * Returns the lines about networks: their numbers, and ports that are DOWN although their server is ACTIVE.
 * @param servers those that may be ACTIVE
 */
export function networkLines(
  networks: NetworkStatus,
  servers: readonly Pick<ServerStatus, "id" | "name" | "status">[],
): readonly string[] {
  const { portsOfServers } = networks;
  const withDownPorts = serversWithDownPorts(networks);
  const found = servers.filter(({ id, status }) => status === "ACTIVE" && withDownPorts.has(id));
  const count = found
    .flatMap(({ id }) => portsOfServers.get(id) ?? [])
    .filter(({ status }) => status === "DOWN").length;
  const names = found.slice(0, NAMED).map(({ name }) => name);
  const more = found.length > NAMED ? ` and ${found.length - NAMED} more` : "";
  return [
    `networks: ${networks.networks}, ports: ${networks.ports}, floating IPs: ${networks.floatingIps}`,
    ...(count === 0 ? [] : [`ports that are DOWN on ACTIVE servers: ${count} (${names.join(", ")}${more})`]),
  ];
}

/** Returns the lines below the table: the latest faults of servers in ERROR, and the number of further servers in ERROR. */
export function faultLines(rows: readonly HostStatus[], columns: number): readonly string[] {
  const inError = rows.flatMap(({ servers }) => servers.filter(({ status }) => status === "ERROR"));
  const latestFirst = inError.toSorted((a, b) => (b.fault?.created ?? "").localeCompare(a.fault?.created ?? ""));
  return faultText(latestFirst.slice(0, MAX_FAULTS), inError.length, columns);
}

/** @param total number of servers in ERROR, including those that are not in `servers` */
export function faultText(servers: readonly ServerStatus[], total: number, columns: number): readonly string[] {
  if (servers.length === 0) {
    return [];
  }
  const lines = servers.map(({ name, fault }) => {
    const text = `${name}: ${fault?.message ?? "no fault was recorded"}`;
    return `  ${wrapWords(text, Math.max(20, columns - 4)).replaceAll("\n", "\n    ")}`;
  });
  const more = total > servers.length ? [`  and ${total - servers.length} more`] : [];
  return ["Servers in ERROR:", ...lines, ...more];
}

function usage(row: HostStatus, resourceClass: string): string {
  const found = row.provider?.usages[resourceClass];
  return found === undefined ? "-" : `${found.used}/${found.capacity}`;
}

function service(row: HostStatus): string {
  if (row.service === null) {
    return row.provider === null && row.host === null ? "-" : "none";
  }
  const marks = [row.service.forcedDown ? "forced down" : row.service.state];
  if (row.service.status === "disabled") {
    marks.push("disabled");
  }
  return marks.join(", ");
}

/** Returns the resource provider's generation, with its name if that differs from the host's. */
function providerText(row: TableRow): string {
  if (row.provider === null) {
    return "-";
  }
  if (row.nodes > 1) {
    return `${row.nodes} nodes`;
  }
  const { name, generation } = row.provider;
  return name === row.host ? String(generation) : `${name} ${generation}`;
}

/** Resource classes with a separate column. */
const USUAL = ["VCPU", "MEMORY_MB", "DISK_GB"];

const OTHERS: Column<TableRow> = {
  title: "Others",
  value: (row) =>
    otherClasses(row)
      .map((name) => `${name} ${usage(row, name)}`)
      .join("\n") || "-",
};

function otherClasses(row: HostStatus): readonly string[] {
  return Object.keys(row.provider?.usages ?? {}).filter((name) => !USUAL.includes(name));
}

/** Other classes, such as PCPU, VGPU or that of a bare-metal node, have one column, added if a provider has any. */
function columnsFor(rows: readonly TableRow[]): readonly Column<TableRow>[] {
  return rows.some((row) => otherClasses(row).length > 0) ? COLUMNS.toSpliced(-2, 0, OTHERS) : COLUMNS;
}

const COLUMNS: readonly Column<TableRow>[] = [
  { title: "Host", value: (row) => row.host ?? "-" },
  { title: "Service", value: service },
  {
    title: "RP gen.",
    value: providerText,
    align: "right",
  },
  { title: "VCPU", value: (row) => usage(row, "VCPU"), align: "right" },
  { title: "MEMORY_MB", value: (row) => usage(row, "MEMORY_MB"), align: "right" },
  { title: "DISK_GB", value: (row) => usage(row, "DISK_GB"), align: "right" },
  {
    title: "Servers",
    value: (row) => row.servers.map((server) => `${server.name} ${server.status}`).join("\n") || "-",
    wraps: true,
  },
  { title: "Guests", value: guestSummary, wraps: true },
];

/** Formats guests as `2 running, 1 shut off (1 stale)` or `1 shut off (1 moving)`; `-` without a hypervisor. */
export function guestSummary({ guests }: Pick<HostStatus, "guests">): string {
  if (guests === null) {
    return "-";
  }
  const states = counts(guests.map(({ state }) => state));
  const strange = counts(guests.flatMap(({ record }) => (record === "here" ? [] : [record])));
  return `${states || "none"}${strange && ` (${strange})`}`;
}

function counts(values: readonly string[]): string {
  return [...new Set(values)]
    .sort()
    .map((value) => `${values.filter((other) => other === value).length} ${value}`)
    .join(", ");
}

/** Merges the rows of a host with many nodes into one. */
export function groupNodesByHost(rows: readonly HostStatus[]): readonly TableRow[] {
  const table: TableRow[] = [];
  for (const row of rows) {
    const before = table.at(-1);
    if (row.host === null || before?.host !== row.host) {
      table.push({ ...row, nodes: 1 });
    } else {
      const provider = row.provider && before.provider ? added(before.provider, row.provider) : before.provider;
      table[table.length - 1] = {
        ...before,
        provider,
        servers: [...before.servers, ...row.servers],
        nodes: before.nodes + 1,
      };
    }
  }
  return table;
}

/** Formats the summary, one line per name and value. */
export function summaryText(summary: ClusterSummary): string {
  const { hosts, down, disabled, usages, runningGuests, serversInError, moreInError } = summary;
  return [
    `hosts: ${hosts}, ${hosts - down.length} up`,
    `down: ${named(down)}`,
    `disabled: ${named(disabled)}`,
    ...Object.entries(usages).map(([name, { used, total }]) => `${name}: ${used} of ${total} used`),
    `guests: ${runningGuests} running`,
    `servers in error: ${serversInError}${moreInError ? " or more" : ""}`,
    "Compute nodes reported these amounts; --all prints each host, with its usages in Placement.",
  ].join("\n");
}

function named(hosts: readonly string[]): string {
  const listedHosts = hosts.slice(0, NAMED).join(", ");
  const more = hosts.length > NAMED ? ` and ${hosts.length - NAMED} more` : "";
  return hosts.length === 0 ? "none" : `${hosts.length} (${listedHosts}${more})`;
}
