import { useComputed } from "@preact/signals";
import type { NetworkRow, RouterEnd, RouterRow } from "../../wire/rows.js";
import { useDashboard } from "../live.js";
import type { Cluster } from "../model/cluster.js";
import { hasWords } from "../model/filters.js";
import { count, counted, shortId } from "../model/format.js";
import { hashOf } from "../model/navigation.js";
import { type SortValue, sortingOf, sortRows } from "../model/sorting.js";
import { Empty, State } from "../parts/indicators.js";
import { Grid } from "../parts/lists.js";
import { FilterField, NetworkLink, Panel, setFilter, ViewHead } from "../parts/navigation.js";
import { type ListColumn, SortableList } from "../parts/sortable-list.js";

const COLUMNS: readonly ListColumn<NetworkRow>[] = [
  {
    name: "name",
    title: "Name",
    tooltip: "Name of the network",
    class: "line-name",
    cell: ({ uuid }) => <NetworkLink uuid={uuid} />,
  },
  {
    name: "status",
    title: "Status",
    tooltip: "Status of the Network API",
    class: "line-state",
    cell: (network) => <NetworkState record={network} />,
  },
  {
    name: "subnets",
    title: "Subnets",
    tooltip: "Ranges of addresses",
    class: "line-subnets",
    cell: ({ subnets }) => {
      const ranges = subnets.map(({ cidr }) => cidr).join(", ");
      return ranges === "" ? <span class="quiet">none</span> : <span title={ranges}>{ranges}</span>;
    },
  },
  {
    name: "use",
    title: "Use",
    tooltip: "Whether it is external, or shared by all projects",
    class: "line-use quiet",
    cell: (network) => usageOf(network),
  },
  {
    name: "type",
    title: "Type",
    tooltip: "Type of its segments with physical network and id",
    class: "line-note",
    cell: ({ segments }) => segments.join(", "),
  },
  {
    name: "ports",
    title: "Ports",
    tooltip: "Number of ports",
    class: "line-figures",
    numeric: true,
    cell: ({ uuid }) => <PortCount uuid={uuid} />,
  },
  {
    name: "id",
    title: "Id",
    tooltip: "First characters of the uuid",
    class: "line-id mono quiet",
    cell: ({ uuid }) => <span title={uuid}>{shortId(uuid)}</span>,
  },
];

const NAMES = COLUMNS.map(({ name }) => name);

/** The networks and routers of the cluster. */
export function Networks() {
  const { cluster, route, narrow } = useDashboard();
  const { q = "" } = route.value.filter;
  const networks = useComputed(() => [...cluster.tables.network.rows.values()]);
  const sorting = useComputed(() => sortingOf(route.value.filter.sort, NAMES, "name"));
  const visibleNetworks = useComputed(() => {
    const { column, descending } = sorting.value;
    const text = route.value.filter.q ?? "";
    const rows = networks.value.filter(({ name, uuid, projectId, subnets, segments }) =>
      hasWords(text, name, uuid, projectId, ...segments, ...subnets.flatMap((subnet) => [subnet.name, subnet.cidr])),
    );
    return sortRows(rows, sortValueOf(column, cluster), ({ name }) => name, descending);
  });
  const routers = [...cluster.tables.router.rows.values()];
  return (
    <>
      <ViewHead title="Networks" figure={networks.value.length}>
        <a href={hashOf("ports")}>All {counted(cluster.tables.port.rows.size, "port")}</a>
      </ViewHead>
      <div class="filters">
        <FilterField label="Filter networks by name, subnet, id …" value={q} />
      </div>
      {cluster.ready.value && visibleNetworks.value.length === 0 && (
        <Empty>
          {networks.value.length === 0 ? (
            <>
              There are no networks. <code>openstack network create</code> creates one.
            </>
          ) : (
            <>
              No networks match.{" "}
              <button type="button" class="plain" onClick={() => setFilter({ q: "" })}>
                Show all networks
              </button>
            </>
          )}
        </Empty>
      )}
      {visibleNetworks.value.length > 0 && (
        <SortableList
          label="Networks"
          columns={COLUMNS}
          items={visibleNetworks.value}
          sorting={sorting.value}
          height={narrow.value ? 64 : 40}
          keyOf={({ uuid }) => uuid}
          rowClass="network-line"
          isWrong={({ status }) => status === "ERROR"}
        />
      )}
      {routers.length > 0 && (
        <Panel title="Routers" figure={routers.length}>
          <RouterGrid routers={routers} />
        </Panel>
      )}
    </>
  );
}

export function NetworkState({ record }: { readonly record: Pick<NetworkRow, "status" | "adminUp"> }) {
  const { status, adminUp } = record;
  const shape = status === "ERROR" ? "wrong" : status === "ACTIVE" && adminUp ? "up" : "off";
  return <State shape={shape} word={adminUp ? status : `${status}, disabled`} />;
}

export function usageOf({ external, shared }: NetworkRow): string {
  return [external ? "external" : "", shared ? "shared" : ""].filter(Boolean).join(", ");
}

function PortCount({ uuid }: { readonly uuid: string }) {
  return <>{count(useDashboard().cluster.portsOfNetwork.get(uuid).length)}</>;
}

export function RouterGrid({ routers }: { readonly routers: readonly RouterRow[] }) {
  return (
    <Grid
      label="Routers"
      columns={[
        { title: "Router", cell: ({ uuid, name }) => <span title={uuid}>{name || shortId(uuid)}</span> },
        { title: "Status", cell: (router) => <NetworkState record={router} /> },
        { title: "External network", cell: ({ gateways }) => <RouterEnds ends={gateways} /> },
        { title: "Interfaces", cell: ({ interfaces }) => <RouterEnds ends={interfaces} /> },
      ]}
      rows={routers}
      keyOf={({ uuid }) => uuid}
    />
  );
}

function RouterEnds({ ends }: { readonly ends: readonly RouterEnd[] }) {
  return ends.length === 0 ? (
    <span class="quiet">none</span>
  ) : (
    <ul class="router-ends">
      {ends.map(({ network, address }) => (
        <li key={`${network}${address}`}>
          <NetworkLink uuid={network} /> <span class="quiet">{address}</span>
        </li>
      ))}
    </ul>
  );
}

function sortValueOf(column: string, cluster: Cluster): (network: NetworkRow) => SortValue {
  switch (column) {
    case "status":
      return ({ status }) => status;
    case "subnets":
      return ({ subnets }) => subnets[0]?.cidr ?? null;
    case "use":
      return (network) => usageOf(network) || null;
    case "type":
      return ({ segments }) => segments[0] ?? null;
    case "ports":
      cluster.tables.port.rows;
      return ({ uuid }) => cluster.portsOfNetwork.count(uuid);
    case "id":
      return ({ uuid }) => uuid;
    default:
      return ({ name }) => name;
  }
}
