import type { CloudSession } from "./cloud-session.js";
import type { HostStatus, ServerStatus } from "./cluster-status.js";

/** A port of a server, as an operator checks it. */
interface PortStatus {
  readonly id: string;
  /** Name of its network, or the id if it has none. */
  readonly network: string;
  readonly addresses: readonly string[];
  /** The host of its binding; empty for none. */
  readonly host: string;
  readonly status: string;
  readonly vifType: string;
}

/** The networks of a cluster. */
export interface NetworkStatus {
  readonly networks: number;
  readonly ports: number;
  readonly floatingIps: number;
  /** Ports by server. */
  readonly portsOfServers: ReadonlyMap<string, readonly PortStatus[]>;
}

interface NetworkView {
  readonly id: string;
  readonly name: string;
}

interface PortView {
  readonly id: string;
  readonly network_id: string;
  readonly fixed_ips: readonly { readonly ip_address: string }[];
  readonly status: string;
  readonly device_id: string;
  readonly device_owner: string;
  readonly "binding:host_id": string;
  readonly "binding:vif_type": string;
}

/** Port attributes that the status needs. */
const FIELDS = [
  "id",
  "network_id",
  "fixed_ips",
  "status",
  "device_id",
  "device_owner",
  "binding:host_id",
  "binding:vif_type",
];

/** Reads networks, ports and floating IPs in three requests. */
export async function networkStatus(session: CloudSession): Promise<NetworkStatus> {
  const list = (path: string) => session.request("network", "GET", `/v2.0/${path}`, "latest");
  const [{ networks }, { ports }, { floatingips }] = await Promise.all([
    list("networks?fields=id&fields=name") as Promise<{ networks: readonly NetworkView[] }>,
    list(`ports?${FIELDS.map((field) => `fields=${field}`).join("&")}`) as Promise<{ ports: readonly PortView[] }>,
    list("floatingips?fields=id") as Promise<{ floatingips: readonly unknown[] }>,
  ]);
  const names = new Map(networks.map(({ id, name }) => [id, name === "" ? id : name]));
  const portsOfServers = new Map<string, PortStatus[]>();
  for (const port of ports.filter(({ device_owner: owner }) => owner.startsWith("compute:"))) {
    const others = portsOfServers.get(port.device_id) ?? [];
    others.push({
      id: port.id,
      network: names.get(port.network_id) ?? port.network_id,
      addresses: port.fixed_ips.map(({ ip_address: address }) => address),
      host: port["binding:host_id"],
      status: port.status,
      vifType: port["binding:vif_type"],
    });
    portsOfServers.set(port.device_id, others);
  }
  return { networks: networks.length, ports: ports.length, floatingIps: floatingips.length, portsOfServers };
}

/** A row of the status whose servers have their ports. */
interface HostStatusWithPorts extends HostStatus {
  readonly servers: readonly (ServerStatus & { readonly ports: readonly PortStatus[] })[];
}

/** Returns the rows with the ports of their servers. */
export function withPorts(
  rows: readonly HostStatus[],
  { portsOfServers }: NetworkStatus,
): readonly HostStatusWithPorts[] {
  return rows.map((row) => ({
    ...row,
    servers: row.servers.map((server) => ({ ...server, ports: portsOfServers.get(server.id) ?? [] })),
  }));
}

/** Returns the ids of servers with a port that is DOWN. */
export function serversWithDownPorts({ portsOfServers }: NetworkStatus): ReadonlySet<string> {
  const down = [...portsOfServers].filter(([, ports]) => ports.some(({ status }) => status === "DOWN"));
  return new Set(down.map(([id]) => id));
}

/** Returns those of some servers that are ACTIVE, by their ids. */
export async function readActiveServers(
  session: CloudSession,
  ids: ReadonlySet<string>,
): Promise<readonly Pick<ServerStatus, "id" | "name" | "status">[]> {
  if (ids.size === 0) {
    return [];
  }
  const found: Pick<ServerStatus, "id" | "name" | "status">[] = [];
  for (let marker = ""; ; ) {
    const path = `/servers?all_tenants=True&status=ACTIVE&limit=${PAGE}${marker}`;
    const { servers } = (await session.request("compute", "GET", path, "2.90")) as {
      readonly servers: readonly { readonly id: string; readonly name: string }[];
    };
    found.push(...servers.filter(({ id }) => ids.has(id)).map(({ id, name }) => ({ id, name, status: "ACTIVE" })));
    if (servers.length < PAGE) {
      return found;
    }
    marker = `&marker=${servers.at(-1)?.id}`;
  }
}

/** Page size of requests for servers. */
const PAGE = 1000;
