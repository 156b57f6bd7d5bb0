import { useComputed } from "@preact/signals";
import type { HostRow } from "../../wire/rows.js";
import { useDashboard } from "../live.js";
import { barsInColumn, barsOf, classColumns, OTHER_CLASSES, usedShare } from "../model/bars.js";
import type { Cluster } from "../model/cluster.js";
import { byName, HOST_STATES, type HostFilter, isHostMatch, isHostState, isInState } from "../model/filters.js";
import { count } from "../model/format.js";
import { hashOf } from "../model/navigation.js";
import { type SortValue, sortingOf, sortRows } from "../model/sorting.js";
import { Bar, BarLegend, Empty, FindingCount, HostState, hostStateOf } from "../parts/indicators.js";
import { FilterField, HostLink, PickField, setFilter, ViewHead } from "../parts/navigation.js";
import { type ListColumn, SortableList } from "../parts/sortable-list.js";
import { ActionButton } from "./action-dialog.js";
import { Heartbeat, HostCard } from "./host.js";

/** Maximum number of hosts drawn as cards; more hosts are a list. */
const MAX_CARDS = 48;

const STATE_NAMES = {
  up: "Up",
  down: "Down",
  disabled: "Disabled",
  differs: "With findings",
  faults: "With faults",
} as const;

const STATE_TITLES = {
  up: "Hosts whose service is up",
  down: "Hosts whose heartbeat is too old, or that are fenced",
  disabled: "Hosts to which no servers are scheduled",
  differs: "Hosts whose records, hypervisor and allocations contradict each other",
  faults: "Hosts with injected faults",
} as const;

const COLUMNS: readonly ListColumn<HostRow>[] = [
  {
    name: "host",
    title: "Host",
    tooltip: "Name of the host",
    class: "line-name",
    cell: ({ host }) => <HostLink host={host} />,
  },
  {
    name: "state",
    title: "State",
    tooltip: "State of the agent and of its service",
    class: "line-state",
    cell: (host) => <HostState host={host} />,
  },
  {
    name: "zone",
    title: "Zone and reason",
    tooltip: "Availability zone and aggregates; or why the host is down or disabled; or its faults",
    class: "line-note",
    cell: (host) => <Note host={host} />,
  },
  {
    name: "findings",
    title: "Findings",
    tooltip: "Contradictions between records, hypervisor and allocations",
    class: "line-wrongs",
    numeric: true,
    cell: ({ host }) => <HostFindings host={host} />,
  },
  {
    name: "servers",
    title: "Servers / guests",
    tooltip: "Servers that Compute records on the host / guests that its hypervisor has",
    class: "line-figures",
    numeric: true,
    cell: ({ host }) => <Guests host={host} />,
  },
  {
    name: "heartbeat",
    title: "Heartbeat",
    tooltip: "Time since the last heartbeat",
    class: "line-age",
    numeric: true,
    cell: ({ host }) => <Heartbeat host={host} />,
  },
];

export function Hosts() {
  const { cluster, route, narrow } = useDashboard();
  const hosts = useComputed(() => [...cluster.tables.host.rows.values()]);
  const differing = useComputed(
    () => new Set([...cluster.tables.finding.rows.values()].flatMap(({ host }) => (host === null ? [] : [host]))),
  );
  const filter = useComputed((): HostFilter => {
    const { q = "", state, aggregate = "", fault = "" } = route.value.filter;
    return { text: q, state: isHostState(state) ? state : "", aggregate, fault };
  });
  const columns = useComputed(() => [
    ...COLUMNS.slice(0, -2),
    ...classColumns(cluster.resourceClasses.value).map(barColumn),
    ...COLUMNS.slice(-2),
  ]);
  const sorting = useComputed(() =>
    sortingOf(
      route.value.filter.sort,
      columns.value.map(({ name }) => name),
      "host",
    ),
  );
  const visibleHosts = useComputed(() => {
    const { column, descending } = sorting.value;
    const rows = hosts.value.filter((host) => isHostMatch(host, differing.value.has(host.host), filter.value));
    return sortRows(rows, sortValueOf(column, cluster), ({ host }) => host, descending);
  });
  const aggregates = useComputed(() => [...new Set(hosts.value.flatMap((host) => host.aggregates))].sort(byName));
  const faults = useComputed(() =>
    [...new Set(hosts.value.flatMap((host) => host.faults.map((fault) => fault.split("=")[0] ?? fault)))].sort(),
  );
  const counts = useComputed(() =>
    HOST_STATES.map((state) => ({
      state,
      hosts: hosts.value.filter((host) => isInState(host, state, differing.value.has(host.host))).length,
    })),
  );
  const { state, aggregate, fault, text } = filter.value;
  const isFew = visibleHosts.value.length <= MAX_CARDS;
  const isList = !isFew || route.value.filter.as === "list";
  return (
    <>
      <ViewHead title="Hosts" figure={hosts.value.length}>
        <div class="view-tools">
          <BarLegend />
          {isFew && hosts.value.length > 0 && (
            <button type="button" onClick={() => setFilter({ as: isList ? "" : "list" })}>
              {isList ? "Show as cards" : "Show as list"}
            </button>
          )}
          <AddHosts />
        </div>
      </ViewHead>
      <div class="filters">
        <FilterField label="Filter hosts by name, zone, reason …" value={text} />
        <fieldset class="chips">
          <legend class="hidden">State</legend>
          <a
            class="chip"
            href={hashOf("hosts", null, { ...route.value.filter, state: "" })}
            aria-current={state === ""}
          >
            All
          </a>
          {counts.value.map(({ state: name, hosts: number }) => (
            <a
              key={name}
              class={`chip${name === "differs" && number > 0 ? " chip-wrong" : ""}`}
              href={hashOf("hosts", null, { ...route.value.filter, state: state === name ? "" : name })}
              title={STATE_TITLES[name]}
              aria-current={state === name}
            >
              {STATE_NAMES[name]} <span class="figure">{count(number)}</span>
            </a>
          ))}
        </fieldset>
        {aggregates.value.length > 0 && (
          <PickField label="Aggregate" name="aggregate" value={aggregate} choices={aggregates.value} />
        )}
        {faults.value.length > 0 && <PickField label="Fault" name="fault" value={fault} choices={faults.value} />}
      </div>
      {hosts.value.length === 0 && cluster.ready.value && (
        <Empty>
          There are no hosts yet. <code>compute-agent host add devstack1</code> adds one.
        </Empty>
      )}
      {hosts.value.length > 0 && visibleHosts.value.length === 0 && (
        <Empty>
          No hosts match.{" "}
          <button type="button" class="plain" onClick={() => setFilter({ q: "", state: "", aggregate: "", fault: "" })}>
            Show all {count(hosts.value.length)}
          </button>
        </Empty>
      )}
      {visibleHosts.value.length > 0 && !isList && (
        <div class="cards">
          {visibleHosts.value.map((host) => (
            <HostCard key={host.host} name={host.host} brief />
          ))}
        </div>
      )}
      {visibleHosts.value.length > 0 && isList && (
        <SortableList
          label="Hosts"
          columns={columns.value}
          items={visibleHosts.value}
          sorting={sorting.value}
          height={narrow.value ? 108 : 48}
          keyOf={({ host }) => host}
          rowClass={`host-line bars-${columns.value.length - COLUMNS.length}`}
          isWrong={({ host }) => differing.value.has(host)}
        />
      )}
    </>
  );
}

function AddHosts() {
  const action = useDashboard().cluster.hello.value?.actions.find(({ name }) => name === "host-add");
  return action === undefined ? null : <ActionButton action={action} primary />;
}

const barColumn = (name: string): ListColumn<HostRow> => ({
  name,
  title: name === OTHER_CLASSES ? "Other" : name,
  tooltip:
    name === OTHER_CLASSES
      ? "Used / capacity of other resource classes"
      : `Used / capacity of ${name}. The capacity is (total − reserved) × allocation ratio.`,
  class: "line-bar",
  numeric: true,
  cell: ({ host }) => <HostBars host={host} column={name} />,
});

function sortValueOf(column: string, cluster: Cluster): (host: HostRow) => SortValue {
  const { heartbeat, provider } = cluster.tables;
  switch (column) {
    case "host":
      return ({ host }) => host;
    case "state":
      return (host) => hostStateOf(host).word;
    case "zone":
      return ({ zone }) => zone;
    case "findings":
      cluster.tables.finding.rows;
      return ({ host }) => cluster.findingsOfHost.count(host);
    case "servers":
      cluster.tables.server.rows;
      return ({ host }) => cluster.serversOfHost.count(host);
    case "heartbeat": {
      const times = heartbeat.rows;
      // The oldest heartbeat has the largest age.
      return ({ host }) => -(times.get(host) ?? 0);
    }
    default:
      provider.rows;
      return ({ host }) => usedShare(barsInColumn(column, barsOf(cluster.providersOfHost.read(host)))[0]);
  }
}

function Note({ host }: { readonly host: HostRow }) {
  const { zone, aggregates, reason, faults } = host;
  const location = [zone, ...aggregates.filter((aggregate) => aggregate !== zone)].filter(Boolean).join(" · ");
  const text = reason || (faults.length > 0 ? faults.join(" ") : location);
  return <span title={text}>{text}</span>;
}

function HostFindings({ host }: { readonly host: string }) {
  return <FindingCount findings={useDashboard().cluster.findingsOfHost.get(host)} />;
}

function HostBars({ host, column }: { readonly host: string; readonly column: string }) {
  const bars = barsInColumn(column, barsOf(useDashboard().cluster.providersOfHost.get(host)));
  return (
    <>
      {bars.map((bar) => (
        <Bar key={bar.resourceClass} bar={bar} label="stack" withName={column === OTHER_CLASSES} />
      ))}
    </>
  );
}

function Guests({ host }: { readonly host: string }) {
  const { cluster } = useDashboard();
  const servers = cluster.serversOfHost.get(host).length;
  const guests = cluster.tables.guests.get(host)?.guests.length;
  return (
    <span title={`${count(servers)} servers recorded, ${guests === undefined ? "unknown" : count(guests)} guests`}>
      {count(servers)}
      <span class="quiet"> / {guests === undefined ? "?" : count(guests)}</span>
    </span>
  );
}
