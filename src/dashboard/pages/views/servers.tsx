import { useComputed } from "@preact/signals";
import type { ServerRow } from "../../wire/rows.js";
import { useDashboard } from "../live.js";
import type { Cluster } from "../model/cluster.js";
import { isServerMatch } from "../model/filters.js";
import { amount, dateTime, shortId } from "../model/format.js";
import { type SortValue, sortingOf, sortRows } from "../model/sorting.js";
import { Empty, FindingCount, ServerState } from "../parts/indicators.js";
import { FilterField, HostLink, PickField, ServerLink, setFilter, ViewHead } from "../parts/navigation.js";
import { type ListColumn, SortableList } from "../parts/sortable-list.js";
import { ActionButton } from "./action-dialog.js";

const COLUMNS: readonly ListColumn<ServerRow>[] = [
  {
    name: "name",
    title: "Name",
    tooltip: "Name of the server",
    class: "line-name",
    cell: ({ uuid }) => <ServerLink uuid={uuid} />,
  },
  {
    name: "status",
    title: "Status",
    tooltip: "Status of the Compute API, and the task in progress",
    class: "line-state",
    cell: (server) => <ServerState server={server} />,
  },
  {
    name: "host",
    title: "Host",
    tooltip: "Host that Compute records for the server",
    class: "line-host",
    cell: ({ host }) => (host === null ? <span class="quiet">no host</span> : <HostLink host={host} />),
  },
  {
    name: "flavor",
    title: "Flavor",
    tooltip: "Flavor of the server",
    class: "line-note",
    cell: ({ flavor, vcpus, memoryMb, diskGb }) => (
      <span title={`${vcpus} VCPU, ${amount("MEMORY_MB", memoryMb)} memory, ${amount("DISK_GB", diskGb)} disk`}>
        {flavor}
      </span>
    ),
  },
  {
    name: "findings",
    title: "Findings",
    tooltip: "Contradictions between records, hypervisors and allocations",
    class: "line-wrongs",
    numeric: true,
    cell: ({ uuid }) => <ServerFindings uuid={uuid} />,
  },
  {
    name: "created",
    title: "Created",
    tooltip: "Time of creation",
    class: "line-created quiet",
    numeric: true,
    cell: ({ createdAt }) => dateTime(createdAt),
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

export function Servers() {
  const { cluster, route, narrow } = useDashboard();
  const servers = useComputed(() => [...cluster.tables.server.rows.values()]);
  const sorting = useComputed(() => sortingOf(route.value.filter.sort, NAMES, "name"));
  const visibleServers = useComputed(() => {
    const { q = "", status = "" } = route.value.filter;
    const { column, descending } = sorting.value;
    const rows = servers.value.filter((server) => isServerMatch(server, q, status));
    return sortRows(rows, sortValueOf(column, cluster), ({ name }) => name, descending);
  });
  const statuses = useComputed(() => [...new Set(servers.value.map(({ status }) => status))].sort());
  const wrong = useComputed(
    () => new Set([...cluster.tables.finding.rows.values()].flatMap(({ server }) => (server === null ? [] : [server]))),
  );
  const { q = "", status = "" } = route.value.filter;
  const create = cluster.hello.value?.actions.find(({ name }) => name === "create");
  return (
    <>
      <ViewHead title="Servers" figure={servers.value.length}>
        {create !== undefined && <ActionButton action={create} primary />}
      </ViewHead>
      <div class="filters">
        <FilterField label="Filter servers by name, id, host, task …" value={q} />
        {statuses.value.length > 0 && (
          <PickField label="Status" name="status" value={status} choices={statuses.value} />
        )}
      </div>
      {cluster.ready.value && visibleServers.value.length === 0 && (
        <Empty>
          {servers.value.length === 0 ? (
            <>
              There are no servers yet.{" "}
              {create === undefined && (
                <>
                  <code>openstack server create</code> creates one.
                </>
              )}
            </>
          ) : (
            <>
              No servers match.{" "}
              <button type="button" class="plain" onClick={() => setFilter({ q: "", status: "" })}>
                Show all servers
              </button>
            </>
          )}
        </Empty>
      )}
      {visibleServers.value.length > 0 && (
        <SortableList
          label="Servers"
          columns={COLUMNS}
          items={visibleServers.value}
          sorting={sorting.value}
          height={narrow.value ? 64 : 40}
          keyOf={({ uuid }) => uuid}
          rowClass="server-line"
          isWrong={({ uuid }) => wrong.value.has(uuid)}
        />
      )}
    </>
  );
}

function sortValueOf(column: string, cluster: Cluster): (server: ServerRow) => SortValue {
  switch (column) {
    case "status":
      return ({ status, taskState }) => `${status} ${taskState ?? ""}`;
    case "host":
      return ({ host }) => host;
    case "flavor":
      return ({ flavor }) => flavor;
    case "findings":
      cluster.tables.finding.rows;
      return ({ uuid }) => cluster.findingsOfServer.count(uuid);
    case "created":
      return ({ createdAt }) => createdAt;
    case "id":
      return ({ uuid }) => uuid;
    default:
      return ({ name }) => name;
  }
}

function ServerFindings({ uuid }: { readonly uuid: string }) {
  return <FindingCount findings={useDashboard().cluster.findingsOfServer.get(uuid)} />;
}
