import { expect, it } from "vitest";
import { groupNodesByHost, guestSummary } from "../../../../src/cli/cluster/status.js";
import type { CloudSession } from "../../../../src/control-plane/local/cloud-session.js";
import {
  clusterStatus,
  type HostStatus,
  type HypervisorGuest,
} from "../../../../src/control-plane/local/cluster-status.js";

function server(id: string, host: string | null, status = "ACTIVE") {
  return {
    id,
    name: `vm-${id}`,
    status,
    "OS-EXT-SRV-ATTR:host": host,
  };
}
const guest = (uuid: string, state = "running"): HypervisorGuest => ({ uuid, name: `instance-${uuid}`, state });

/** Creates an API with two hosts and these servers, with paging. */
function session(
  servers: readonly ReturnType<typeof server>[],
  moves: readonly { readonly instance_uuid: string }[] = [],
): CloudSession {
  return {
    request: async (_service, _method, path) => {
      const url = new URL(path, "http://x");
      switch (url.pathname) {
        case "/os-services":
          return {
            services: ["devstack1", "devstack2"].map((host) => ({
              host,
              state: "up",
              status: "enabled",
              forced_down: false,
            })),
          };
        case "/os-hypervisors/detail":
          return { hypervisors: [{ id: "p1", hypervisor_hostname: "devstack1", service: { host: "devstack1" } }] };
        case "/servers/detail": {
          const start = servers.findIndex(({ id }) => id === url.searchParams.get("marker")) + 1;
          return { servers: servers.slice(start, start + Number(url.searchParams.get("limit"))) };
        }
        case "/os-migrations":
          return {
            migrations: moves.filter(({ instance_uuid: uuid }) => uuid === url.searchParams.get("instance_uuid")),
          };
        case "/resource_providers":
          return { resource_providers: [{ uuid: "p1", name: "devstack1", generation: 3, root_provider_uuid: "p1" }] };
        case "/resource_providers/p1/inventories":
          return { inventories: { VCPU: { total: 8, reserved: 0, allocation_ratio: 4 } } };
        default:
          return { usages: { VCPU: 1 } };
      }
    },
  };
}

/** Agents that report no guests. */
const NONE = async () => new Map<string, never[]>();

it("calls agents that are up for guests of hosts without a hypervisor folder", async () => {
  const requestedHosts: (readonly string[])[] = [];
  const rows = await clusterStatus(session([server("a", "devstack2")]), new Map([["devstack1", []]]), async (hosts) => {
    requestedHosts.push(hosts);
    return new Map([["devstack2", [guest("a"), guest("b")]]]);
  });
  expect(requestedHosts).toEqual([["devstack2"]]);
  expect(rows.map(guestSummary)).toEqual(["none", "2 running (1 unknown)"]);
});

it("lists the guests of each hypervisor, and which are recorded elsewhere or not at all", async () => {
  const guests = new Map([
    ["devstack1", [guest("a"), guest("b"), guest("c", "shut off")]],
    ["gone", [guest("d")]],
    ["empty", []],
  ]);
  const rows = await clusterStatus(session([server("a", "devstack1"), server("b", "devstack2")]), guests, NONE);
  expect(rows.map(({ host, guests: found }) => [host, found?.map(({ uuid, record }) => `${uuid} ${record}`)])).toEqual([
    ["devstack1", ["a here", "b stale", "c unknown"]],
    ["devstack2", undefined],
    ["gone", ["d unknown"]],
  ]);
  expect(rows.map(guestSummary)).toEqual(["2 running, 1 shut off (1 stale, 1 unknown)", "-", "1 running (1 unknown)"]);
  expect(rows[0]?.provider?.usages).toEqual({ VCPU: { used: 1, capacity: 32 } });
});

it("gives a server in ERROR its fault with the explanation for operators", async () => {
  const message = "No valid host was found. There are not enough hosts available.";
  const details = `Of 3 hosts 2 have too little MEMORY_MB.\nNoValidHost: ${message}\n    at schedule`;
  const failed = { ...server("a", null, "ERROR"), fault: { message, details, created: "2026-01-01T00:00:00Z" } };
  const rows = await clusterStatus(session([failed, server("b", "devstack1")]), new Map(), NONE);
  expect(rows.flatMap(({ servers }) => servers.map(({ id, fault }) => [id, fault]))).toEqual([
    ["b", null],
    ["a", { message: `${message} Of 3 hosts 2 have too little MEMORY_MB.`, created: "2026-01-01T00:00:00Z" }],
  ]);
});

it("reports no guest as stale that belongs to a move", async () => {
  const move = (instance: string, type: string, status: string) => {
    return {
      instance_uuid: instance,
      migration_type: type,
      status,
      source_compute: "devstack1",
      dest_compute: "devstack2",
    };
  };
  const servers = [
    server("resized", "devstack2", "VERIFY_RESIZE"),
    server("reset", "devstack2", "ACTIVE"),
    server("confirmed", "devstack2"),
    server("resizing", "devstack2", "RESIZE"),
    server("evacuated", "devstack2"),
    server("arriving", "devstack1", "MIGRATING"),
  ];
  const moves = [
    move("resized", "resize", "finished"),
    move("reset", "resize", "finished"),
    move("confirmed", "migration", "confirmed"),
    move("resizing", "migration", "post-migrating"),
    move("evacuated", "evacuation", "accepted"),
    move("arriving", "live-migration", "running"),
  ];
  const names = ["resized", "reset", "confirmed", "resizing", "evacuated"];
  const guests = new Map([
    ["devstack1", names.map((name) => guest(name, "shut off"))],
    ["devstack2", [guest("arriving")]],
  ]);
  const [first, second] = await clusterStatus(session(servers, moves), guests, NONE);
  expect(first?.guests?.map(({ uuid, record }) => `${uuid} ${record}`)).toEqual([
    "resized moving",
    "reset stale",
    "confirmed stale",
    "resizing moving",
    "evacuated stale",
  ]);
  expect(second?.guests).toMatchObject([{ uuid: "arriving", record: "moving" }]);
});

it("lists servers without a host, or of an unknown host", async () => {
  const rows = await clusterStatus(
    session([server("a", null), server("b", "gone"), server("c", "devstack1")]),
    new Map(),
    NONE,
  );
  expect(rows.map(({ host, servers }) => [host, servers.map(({ id }) => id)])).toEqual([
    ["devstack1", ["c"]],
    ["devstack2", []],
    ["gone", ["b"]],
    [null, ["a"]],
  ]);
  expect(rows.find(({ host }) => host === null)?.guests, "a list, as scripts walk each row's").toEqual([]);
});

it("counts resources of child providers, such as vGPUs, for their root", async () => {
  const flat = session([]);
  const nested: CloudSession = {
    request: async (service, method, path, version) => {
      if (path === "/resource_providers") {
        const child = (uuid: string) => ({ uuid, name: uuid, generation: 0, root_provider_uuid: "p1" });
        return { resource_providers: [child("gpu1"), { ...child("p1"), name: "devstack1" }, child("gpu2")] };
      }
      if (!path.includes("/gpu")) {
        return flat.request(service, method, path, version);
      }
      return path.endsWith("/inventories")
        ? { inventories: { VGPU: { total: 4, reserved: 0, allocation_ratio: 1 } } }
        : { usages: { VGPU: 3 } };
    },
  };
  const [row] = await clusterStatus(nested, new Map(), NONE);
  expect(row?.provider).toMatchObject({
    name: "devstack1",
    usages: { VCPU: { used: 1, capacity: 32 }, VGPU: { used: 6, capacity: 8 } },
  });
});

it("reads all pages of servers", async () => {
  const servers = Array.from({ length: 2_500 }, (_, index) => server(String(index), "devstack1"));
  const rows = await clusterStatus(session(servers), new Map([["devstack1", [guest("2499")]]]), NONE);
  expect(rows[0]?.servers).toHaveLength(2_500);
  expect(rows[0]?.guests).toMatchObject([{ record: "here" }]);
});

it("an empty hypervisor has no guests", () => {
  expect(guestSummary({ guests: [] })).toBe("none");
});

it("a host with several nodes lists its servers by node, and has a single row in tables", async () => {
  const names = ["n1", "n2", "n3"];
  const bareMetal: CloudSession = {
    request: async (_service, _method, path) => {
      if (path.startsWith("/os-services")) {
        return { services: [{ host: "ironic1", state: "up", status: "enabled", forced_down: false }] };
      }
      if (path.startsWith("/os-hypervisors")) {
        return {
          hypervisors: names.map((id) => ({ id, hypervisor_hostname: id, service: { host: "ironic1" } })),
        };
      }
      if (path.startsWith("/servers")) {
        return { servers: [{ ...server("a", "ironic1"), "OS-EXT-SRV-ATTR:hypervisor_hostname": "n2" }] };
      }
      if (path === "/resource_providers") {
        return {
          resource_providers: names.map((id) => ({ uuid: id, name: id, generation: 1, root_provider_uuid: id })),
        };
      }
      const taken = path.includes("/n2/");
      return path.endsWith("/inventories")
        ? { inventories: { CUSTOM_BAREMETAL: { total: 1, reserved: taken ? 1 : 0, allocation_ratio: 1 } } }
        : { usages: { CUSTOM_BAREMETAL: taken ? 1 : 0 } };
    },
  };
  const rows: readonly HostStatus[] = await clusterStatus(bareMetal, new Map(), NONE);
  expect(rows.map((row) => row.servers.map(({ id }) => id))).toEqual([[], ["a"], []]);
  const [grouped, ...others] = groupNodesByHost(rows);
  expect(others).toEqual([]);
  expect(grouped).toMatchObject({
    host: "ironic1",
    nodes: 3,
    servers: [{ id: "a" }],
    provider: { usages: { CUSTOM_BAREMETAL: { used: 1, capacity: 2 } } },
  });
});

it("reads every page of hypervisors, and nothing twice", async () => {
  const hosts = Array.from({ length: 1_500 }, (_, number) => `host${number}`);
  const requestedPaths: string[] = [];
  const pages: CloudSession = {
    request: async (_service, _method, path) => {
      requestedPaths.push(path);
      const url = new URL(path, "http://x");
      const page = (key: string, all: readonly { readonly id: string }[]) => {
        const start = all.findIndex(({ id }) => id === url.searchParams.get("marker")) + 1;
        return { [key]: all.slice(start, start + Number(url.searchParams.get("limit"))) };
      };
      switch (url.pathname) {
        case "/os-services":
          return { services: hosts.map((host) => ({ host, state: "up", status: "enabled", forced_down: false })) };
        case "/os-hypervisors/detail":
          return page(
            "hypervisors",
            hosts.map((host) => ({ id: `p-${host}`, hypervisor_hostname: host, service: { host } })),
          );
        case "/servers/detail":
          return page(
            "servers",
            hosts.map((host) => server(`s-${host}`, host)),
          );
        case "/resource_providers":
          return {
            resource_providers: hosts.map((host) => ({
              uuid: `p-${host}`,
              name: host,
              generation: 1,
              root_provider_uuid: `p-${host}`,
            })),
          };
        default:
          return { inventories: {}, usages: {} };
      }
    },
  };
  const rows = await clusterStatus(pages, new Map(), async () => new Map());
  expect(rows.map(({ host }) => host)).toEqual(hosts);
  expect(rows.every(({ service, provider, servers }) => service && provider && servers.length === 1)).toBe(true);
  expect(new Set(requestedPaths).size).toBe(requestedPaths.length);
  expect(requestedPaths).toHaveLength(2 + 2 + 2 + 2 * hosts.length);
});
