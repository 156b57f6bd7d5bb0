import { expect, it } from "vitest";
import { networkLines } from "../../../../src/cli/cluster/status.js";
import type { CloudSession } from "../../../../src/control-plane/local/cloud-session.js";
import type { HostStatus } from "../../../../src/control-plane/local/cluster-status.js";
import {
  networkStatus,
  readActiveServers,
  serversWithDownPorts,
  withPorts,
} from "../../../../src/control-plane/local/network-status.js";

function port(id: string, device: string, status: string, owner = "compute:nova") {
  return {
    id,
    network_id: "n1",
    fixed_ips: [{ ip_address: "10.0.0.5" }, { ip_address: "fd00::5" }],
    status,
    device_id: device,
    device_owner: owner,
    "binding:host_id": "devstack1",
    "binding:vif_type": "ovs",
  };
}

const PORTS = [
  port("p1", "a", "ACTIVE"),
  port("p2", "b", "DOWN"),
  port("p3", "c", "DOWN"),
  port("p4", "router", "DOWN", "network:router_interface"),
];

/** Creates an API with these ports, and 1,001 ACTIVE servers. */
const session: CloudSession = {
  request: async (_service, _method, path) => {
    const url = new URL(path, "http://x");
    switch (url.pathname) {
      case "/v2.0/networks":
        return { networks: [{ id: "n1", name: "web" }] };
      case "/v2.0/ports":
        return { ports: PORTS };
      case "/v2.0/floatingips":
        return { floatingips: [{}, {}] };
      default:
        return url.searchParams.get("marker") === "s999"
          ? { servers: [{ id: "b", name: "vm-b" }] }
          : { servers: Array.from({ length: 1000 }, (_, index) => ({ id: `s${index}`, name: `vm-${index}` })) };
    }
  },
};

it("networks, ports and floating IPs are counted, and ACTIVE servers with DOWN ports are named", async () => {
  const servers = [
    { id: "a", name: "vm-a", status: "ACTIVE" },
    { id: "b", name: "vm-b", status: "ACTIVE" },
    { id: "c", name: "vm-c", status: "SHUTOFF" },
  ];
  expect(networkLines(await networkStatus(session), servers)).toEqual([
    "networks: 1, ports: 4, floating IPs: 2",
    "ports that are DOWN on ACTIVE servers: 1 (vm-b)",
  ]);
  expect(networkLines(await networkStatus(session), servers.slice(0, 1))).toHaveLength(1);
});

it("servers have their ports with network, addresses, host and status", async () => {
  const server = { id: "a", name: "vm-a", status: "ACTIVE", fault: null };
  const row: HostStatus = { host: "devstack1", service: null, provider: null, servers: [server], guests: null };
  expect(withPorts([row], await networkStatus(session))[0]?.servers).toEqual([
    {
      ...server,
      ports: [
        {
          id: "p1",
          network: "web",
          addresses: ["10.0.0.5", "fd00::5"],
          host: "devstack1",
          status: "ACTIVE",
          vifType: "ovs",
        },
      ],
    },
  ]);
});

it("ACTIVE servers are read in pages, and only if there are DOWN ports", async () => {
  const down = serversWithDownPorts(await networkStatus(session));
  expect(await readActiveServers(session, down)).toEqual([{ id: "b", name: "vm-b", status: "ACTIVE" }]);
  const none: CloudSession = { request: () => Promise.reject(new Error("no request is needed")) };
  expect(await readActiveServers(none, new Set())).toEqual([]);
});
