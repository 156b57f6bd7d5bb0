import { useComputed } from "@preact/signals";
import { useDashboard } from "../live.js";
import { byName, isServerMatch } from "../model/filters.js";
import { shortId } from "../model/format.js";
import { Empty, ServerState, State } from "../parts/indicators.js";
import { VirtualList } from "../parts/lists.js";
import { FilterField, HostLink, PickField, ServerLink, ViewHead } from "../parts/navigation.js";

export function Servers() {
  const { cluster, route, narrow } = useDashboard();
  const servers = useComputed(() => [...cluster.tables.server.rows.values()]);
  const visibleServers = useComputed(() => {
    const { q = "", status = "" } = route.value.filter;
    return servers.value
      .filter((server) => isServerMatch(server, q, status))
      .sort((a, b) => byName(a.name, b.name))
      .map(({ uuid }) => uuid);
  });
  const statuses = useComputed(() => [...new Set(servers.value.map(({ status }) => status))].sort());
  const { q = "", status = "" } = route.value.filter;
  return (
    <>
      <ViewHead title="Servers" figure={servers.value.length} />
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
              There is no server yet.{" "}
              {cluster.hello.value?.actions.some(({ name }) => name === "create") === true ? (
                <a href="#/try/create">Boot one</a>
              ) : (
                <code>openstack server create</code>
              )}
            </>
          ) : (
            "No server is so."
          )}
        </Empty>
      )}
      <VirtualList
        label="Servers"
        items={visibleServers.value}
        height={narrow.value ? 64 : 40}
        keyOf={(uuid) => uuid}
        draw={(uuid) => <ServerLine uuid={uuid} />}
      />
    </>
  );
}

function ServerLine({ uuid }: { readonly uuid: string }) {
  const { cluster } = useDashboard();
  const server = cluster.tables.server.get(uuid);
  if (server === undefined) {
    return null;
  }
  const findings = cluster.findingsOfServer.get(uuid).length;
  return (
    <div class={`line server-line${findings > 0 ? " line-wrong" : ""}`}>
      <span class="line-name">
        <ServerLink uuid={uuid} />
      </span>
      <ServerState server={server} />
      <span class="line-host">
        {server.host === null ? <span class="quiet">no host</span> : <HostLink host={server.host} />}
      </span>
      <span class="line-note">{server.flavor}</span>
      <span class="line-wrongs">{findings > 0 && <State shape="wrong" word={`${findings} wrong`} />}</span>
      <span class="mono quiet">{shortId(uuid)}</span>
    </div>
  );
}
