import { useComputed } from "@preact/signals";
import type { PortRow } from "../../wire/rows.js";
import { useDashboard } from "../live.js";
import type { Cluster } from "../model/cluster.js";
import { isPortMatch, isPortWrong } from "../model/filters.js";
import { shortId } from "../model/format.js";
import { type SortValue, sortingOf, sortRows } from "../model/sorting.js";
import { Empty } from "../parts/indicators.js";
import { FilterField, NetworkLink, PickField, setFilter, ViewHead } from "../parts/navigation.js";
import { type ListColumn, SortableList } from "../parts/sortable-list.js";
import { Addresses, Bindings, PortDevice, PortState } from "./port-parts.js";

const COLUMNS: readonly ListColumn<PortRow>[] = [
  {
    name: "addresses",
    title: "Addresses",
    tooltip: "Fixed addresses, and the floating IPs that lead to them",
    class: "line-name",
    cell: (port) => <Addresses port={port} />,
  },
  {
    name: "status",
    title: "Status",
    tooltip: "Status of the Network API",
    class: "line-state",
    cell: (port) => <ListedState port={port} />,
  },
  {
    name: "server",
    title: "Server",
    tooltip: "Server of the port, or the kind of another device",
    class: "line-device",
    cell: (port) => <PortDevice port={port} />,
  },
  {
    name: "network",
    title: "Network",
    tooltip: "Network of the port",
    class: "line-network",
    cell: ({ network }) => <NetworkLink uuid={network} />,
  },
  {
    name: "host",
    title: "Bindings",
    tooltip: "Hosts that the port is bound to. A live migration adds an inactive binding",
    class: "line-host",
    cell: (port) => <Bindings port={port} />,
  },
  {
    name: "mac",
    title: "MAC",
    tooltip: "MAC address",
    class: "line-mac mono quiet",
    cell: ({ mac }) => mac,
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

/** All ports of the cluster. */
export function Ports() {
  const { cluster } = useDashboard();
  return (
    <>
      <ViewHead up="networks" title="Ports" figure={cluster.tables.port.rows.size} />
      <PortList />
    </>
  );
}

/** A list of ports with filters. @param network only those of this network */
export function PortList({ network }: { readonly network?: string }) {
  const { cluster, route, narrow } = useDashboard();
  const ports = useComputed(() =>
    network === undefined ? [...cluster.tables.port.rows.values()] : cluster.portsOfNetwork.get(network),
  );
  const sorting = useComputed(() => sortingOf(route.value.filter.sort, NAMES, "addresses"));
  const visiblePorts = useComputed(() => {
    const { q = "", status = "" } = route.value.filter;
    const { column, descending } = sorting.value;
    const rows = ports.value.filter((port) => isPortMatch(port, namesOf(cluster, port), q, status));
    return sortRows(rows, sortValueOf(column, cluster), ({ uuid }) => uuid, descending);
  });
  const statuses = useComputed(() => [...new Set(ports.value.map(({ status }) => status))].sort());
  const { q = "", status = "" } = route.value.filter;
  return (
    <>
      <div class="filters">
        <FilterField label="Filter ports by address, server, host, id …" value={q} />
        {statuses.value.length > 0 && (
          <PickField label="Status" name="status" value={status} choices={statuses.value} />
        )}
      </div>
      {cluster.ready.value && visiblePorts.value.length === 0 && (
        <Empty>
          {ports.value.length === 0 ? (
            "There are no ports yet."
          ) : (
            <>
              No ports match.{" "}
              <button type="button" class="plain" onClick={() => setFilter({ q: "", status: "" })}>
                Show all ports
              </button>
            </>
          )}
        </Empty>
      )}
      {visiblePorts.value.length > 0 && (
        <SortableList
          label="Ports"
          columns={COLUMNS}
          items={visiblePorts.value}
          sorting={sorting.value}
          height={narrow.value ? 84 : 40}
          keyOf={({ uuid }) => uuid}
          rowClass="port-line"
          isWrong={(port) => isPortWrong(port, serverOf(cluster, port))}
        />
      )}
    </>
  );
}

/** Reads all servers, so that a list follows them with one subscription. */
function serverOf(cluster: Cluster, { server }: PortRow) {
  return server === null ? undefined : cluster.tables.server.rows.get(server);
}

function namesOf(cluster: Cluster, port: PortRow): readonly string[] {
  const network = cluster.tables.network.rows.get(port.network);
  return [network?.name ?? "", serverOf(cluster, port)?.name ?? ""];
}

function ListedState({ port }: { readonly port: PortRow }) {
  const server = useDashboard().cluster.tables.server.get(port.server ?? "");
  return <PortState port={port} wrong={isPortWrong(port, server)} />;
}

function sortValueOf(column: string, cluster: Cluster): (port: PortRow) => SortValue {
  switch (column) {
    case "status":
      return ({ status }) => status;
    case "server":
      return (port) => serverOf(cluster, port)?.name ?? null;
    case "network":
      return ({ network }) => cluster.tables.network.rows.get(network)?.name ?? network;
    case "host":
      return ({ bindings }) => bindings[0]?.host ?? null;
    case "mac":
      return ({ mac }) => mac;
    case "id":
      return ({ uuid }) => uuid;
    default:
      return ({ addresses }) => addresses[0] ?? null;
  }
}
