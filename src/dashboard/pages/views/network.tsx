import { useDashboard } from "../live.js";
import { shortId } from "../model/format.js";
import { Empty } from "../parts/indicators.js";
import { Grid } from "../parts/lists.js";
import { Panel, ViewHead } from "../parts/navigation.js";
import { NetworkState, RouterGrid, usageOf } from "./networks.js";
import { PortList } from "./ports.js";
import { Fact } from "./server.js";

/** A network with its subnets, routers and ports. */
export function NetworkView({ uuid }: { readonly uuid: string }) {
  const { cluster } = useDashboard();
  const network = cluster.tables.network.get(uuid);
  if (network === undefined) {
    return (
      <>
        <ViewHead up="networks" title={<span class="mono">{uuid}</span>} />
        {cluster.ready.value && <Empty>There is no network with this id.</Empty>}
      </>
    );
  }
  const { name, projectId, mtu, segments, subnets } = network;
  const routers = [...cluster.tables.router.rows.values()].filter(({ gateways, interfaces }) =>
    [...gateways, ...interfaces].some((end) => end.network === uuid),
  );
  return (
    <>
      <ViewHead up="networks" title={name || uuid}>
        <NetworkState record={network} />
      </ViewHead>
      <dl class="facts">
        <Fact name="Id">
          <span class="mono">{uuid}</span>
        </Fact>
        <Fact name="Project">
          <span class="mono">{projectId || "none"}</span>
        </Fact>
        <Fact name="Use">{usageOf(network) || "project"}</Fact>
        <Fact name="Type">{segments.join(", ")}</Fact>
        <Fact name="MTU">{mtu}</Fact>
      </dl>
      <div class="halves">
        <Panel title="Subnets" figure={subnets.length}>
          {subnets.length === 0 ? (
            <p class="quiet">No subnets.</p>
          ) : (
            <Grid
              label="Subnets"
              columns={[
                {
                  title: "Subnet",
                  cell: (subnet) => <span title={subnet.uuid}>{subnet.name || shortId(subnet.uuid)}</span>,
                },
                { title: "Range", cell: ({ cidr }) => cidr },
                { title: "Gateway", cell: ({ gateway }) => gateway ?? <span class="quiet">none</span> },
                { title: "DHCP", cell: ({ dhcp }) => (dhcp ? "yes" : "no") },
              ]}
              rows={subnets}
              keyOf={(subnet) => subnet.uuid}
            />
          )}
        </Panel>
        <Panel title="Routers" figure={routers.length}>
          {routers.length === 0 ? <p class="quiet">No routers.</p> : <RouterGrid routers={routers} />}
        </Panel>
      </div>
      <Panel title="Ports" figure={cluster.portsOfNetwork.get(uuid).length}>
        <PortList network={uuid} />
      </Panel>
    </>
  );
}
