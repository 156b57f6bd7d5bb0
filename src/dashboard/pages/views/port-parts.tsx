import type { PortRow } from "../../wire/rows.js";
import { useDashboard } from "../live.js";
import { isPortWrong } from "../model/filters.js";
import { shortId } from "../model/format.js";
import { State } from "../parts/indicators.js";
import { Grid } from "../parts/lists.js";
import { HostLink, NetworkLink, Panel, ServerLink } from "../parts/navigation.js";

/** The status of a port, with the explanation of a problem. */
export function PortState({ port, wrong }: { readonly port: PortRow; readonly wrong: boolean }) {
  const { status, adminUp } = port;
  const shape = wrong ? "wrong" : status === "ACTIVE" ? "up" : status === "BUILD" ? "work" : "off";
  return (
    <State
      shape={shape}
      word={adminUp ? status : `${status}, disabled`}
      title={wrong ? "The binding failed, or the port is not plugged although its server is ACTIVE." : undefined}
    />
  );
}

/** The hosts of a port's bindings. Inactive and failed ones stand out. */
export function Bindings({ port: { bindings } }: { readonly port: PortRow }) {
  if (bindings.length === 0) {
    return <span class="quiet">unbound</span>;
  }
  return (
    <span class="bindings">
      {bindings.map(({ host, vifType, active }) => (
        <span key={`${host}${active}`}>
          <HostLink host={host} />
          {!active && (
            <>
              {" "}
              <State shape="work" word="inactive" title="Binding on the destination of a move in progress." />
            </>
          )}
          {vifType === "binding_failed" && (
            <>
              {" "}
              <State shape="wrong" word={vifType} title="No L2 agent was alive on the host." />
            </>
          )}
        </span>
      ))}
    </span>
  );
}

/** A link to the server, or the kind of the device. */
export function PortDevice({ port: { server, owner } }: { readonly port: PortRow }) {
  return server === null ? <span class="quiet">{owner === "" ? "free" : owner}</span> : <ServerLink uuid={server} />;
}

export function Addresses({ port: { addresses, floatingIps } }: { readonly port: PortRow }) {
  const floating = floatingIps.join(", ");
  return (
    <span title={[...addresses, ...floatingIps.map((address) => `${address} (floating IP)`)].join("\n")}>
      {addresses.join(", ")}
      {floating !== "" && <span class="quiet"> → {floating}</span>}
    </span>
  );
}

/** The ports of a server with their bindings; nothing if it has none. */
export function ServerPorts({ server }: { readonly server: string }) {
  const { cluster } = useDashboard();
  const ports = cluster.portsOfServer.get(server);
  const row = cluster.tables.server.get(server);
  return ports.length === 0 ? null : (
    <Panel title="Ports" figure={ports.length}>
      <Grid
        label="Ports"
        columns={[
          { title: "Port", class: "mono", cell: ({ uuid }) => <span title={uuid}>{shortId(uuid)}</span> },
          { title: "Network", cell: ({ network }) => <NetworkLink uuid={network} /> },
          { title: "Status", cell: (port) => <PortState port={port} wrong={isPortWrong(port, row)} /> },
          { title: "Addresses", cell: (port) => <Addresses port={port} /> },
          { title: "Bindings", cell: (port) => <Bindings port={port} /> },
          { title: "MAC", class: "mono", cell: ({ mac }) => mac },
        ]}
        rows={ports}
        keyOf={({ uuid }) => uuid}
        isWrong={(port) => isPortWrong(port, row)}
      />
    </Panel>
  );
}
