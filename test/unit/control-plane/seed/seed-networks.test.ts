import { beforeEach, describe, expect, it } from "vitest";
import { openIdentityStore } from "../../../../src/control-plane/identity/store/bootstrap.js";
import { SeededIdentityStore } from "../../../../src/control-plane/identity/store/seeded-identities.js";
import { ImageStore } from "../../../../src/control-plane/image/image-store.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";
import { NetworkRecords } from "../../../../src/control-plane/seed/network/network-records.js";
import type { NetworkSeed } from "../../../../src/control-plane/seed/network/network-seed-schema.js";
import {
  applySeed,
  exportSeed,
  type SeedPlace,
  type SeedStore,
  seedSteps,
} from "../../../../src/control-plane/seed/seed.js";
import { nodeDigests } from "../../../../src/runtime/node/node-cryptography.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";

let place: SeedPlace;
let parts: SeedStore;

beforeEach(() => {
  const runtime = createVirtualRuntime();
  const { clock, files, logger } = runtime;
  place = { runtime, digests: nodeDigests, directory: stateDir("/state", "/") };
  const store = emptyStore({ runtime });
  const sql = store.database;
  const identity = openIdentityStore(sql, nodeDigests, 0);
  const images = new ImageStore({ sql, clock, files, logger, digests: nodeDigests, folder: "/state/glance" });
  parts = {
    store,
    identities: new SeededIdentityStore(identity, nodeDigests),
    images: images.table,
    imageStore: () => images,
  };
});

function stepsOf(networks: NetworkSeed) {
  return seedSteps(parts, { imageBytes: new Map(), ironicNodes: 0, networks }, place);
}

function describeSteps(seed: NetworkSeed): readonly string[] {
  return stepsOf(seed).map(({ sign, text, destroys }) => `${sign} ${text}${destroys ? " !" : ""}`);
}

/** Applies the seed; checks that neither it nor the exported file changes anything afterwards. */
async function settle(seed: NetworkSeed): Promise<readonly string[]> {
  const found = describeSteps(seed);
  await applySeed(parts, stepsOf(seed));
  expect(describeSteps(seed)).toEqual([]);
  const { security_groups: securityGroups, floating_ips: floatingIps, ...others } = exportSections();
  const exported = { ...others, securityGroups, floatingIps };
  expect(
    describeSteps(Object.fromEntries(Object.keys(seed).map((key) => [key, Reflect.get(exported, key) ?? []]))),
  ).toEqual([]);
  return found;
}

function exportSections() {
  const { networks, routers, security_groups, floating_ips } = exportSeed(parts, place);
  return { networks, routers, security_groups, floating_ips };
}

const records = () => new NetworkRecords(parts.store.database, place.runtime, { start: "devstack", projects: {} });

const WEB = { name: "web", project: "demo", subnets: [{ name: "web-v4", cidr: "192.168.7.0/24" }] };
const EDGE = { name: "edge", project: "demo", external_network: "public", subnets: ["web-v4"] };

describe("networks of a cluster file", () => {
  it("are created once with their subnets, and change in place", async () => {
    expect(await settle({ networks: [WEB] })).toEqual(["+ network web of project demo: subnets web-v4"]);
    const changed = {
      ...WEB,
      mtu: 1400,
      shared: true,
      subnets: [{ ...WEB.subnets[0], name: "web-v4", dns_nameservers: ["9.9.9.9"] }],
    };
    expect(await settle({ networks: [changed] })).toEqual([
      "~ network web of project demo: shared false -> true, mtu 1450 -> 1400",
      '~ subnet web-v4 of network web: dns_nameservers [] -> ["9.9.9.9"]',
    ]);
  });

  it("are exported in full", async () => {
    const network = {
      name: "racks",
      description: "All racks",
      shared: true,
      mtu: 1500,
      network_type: "vlan",
      physical_network: "physnet1",
      segmentation_id: 107,
      subnets: [
        {
          name: "v4",
          cidr: "10.7.0.0/16",
          gateway_ip: null,
          enable_dhcp: false,
          allocation_pools: [
            { start: "10.7.1.1", end: "10.7.1.9" },
            { start: "10.7.2.1", end: "10.7.2.9" },
          ],
          host_routes: [{ destination: "10.9.0.0/16", nexthop: "10.7.0.9" }],
        },
        {
          name: "v6",
          cidr: "fd00:7::/64",
          gateway_ip: "fd00:7::1",
          allocation_pools: [{ start: "fd00:7::2", end: "fd00:7::ffff:ffff:ffff:ffff" }],
          ipv6_ra_mode: "slaac",
          ipv6_address_mode: "slaac",
        },
      ],
    } as const;
    const desired = {
      ...network,
      subnets: network.subnets.map((one) => ({ ...one, allocation_pools: [...one.allocation_pools].reverse() })),
    };
    await settle({ networks: [desired as never] });
    expect(exportSections().networks).toEqual([network]);
  });

  it("get another range only with a new subnet, which destroys the old one", async () => {
    await settle({ networks: [WEB], routers: [EDGE] });
    const subnets = [{ name: "web-v4", cidr: "192.168.8.0/24" }];
    expect(await settle({ networks: [{ ...WEB, subnets }], routers: [EDGE] })).toEqual([
      "~ subnet web-v4 of network web: cidr 192.168.7.0/24 -> 192.168.8.0/24 !",
    ]);
    expect(exportSections().routers).toEqual([EDGE]);
  });

  it("allocate ranges from a pool", async () => {
    const subnets = [{ name: "pooled", subnet_pool: "shared-default-subnetpool-v4", prefix_length: 28 }];
    await settle({ networks: [{ ...WEB, subnets }] });
    expect(exportSections().networks?.[0]?.subnets?.[0]).toMatchObject({
      cidr: expect.stringMatching(/^10\.0\..*\/28$/),
      subnet_pool: "shared-default-subnetpool-v4",
    });
  });

  it("go when the file no longer has them; those of the start and of clients stay", async () => {
    await settle({ networks: [WEB] });
    const client = records().send("POST", "networks", { network: { name: "client" } });
    expect(await settle({ networks: [] })).toEqual(["- network web of project demo !"]);
    const names = parts.store.database.strings("SELECT name FROM network_networks ORDER BY name");
    expect(names).toEqual([client.name, "private", "public", "shared"]);
  });

  it("belong to the file from then on if they existed", async () => {
    const named = { name: "shared", shared: true };
    expect(await settle({ networks: [named] })).toEqual(["~ network shared of project admin: belongs to the file"]);
    expect(describeSteps({ networks: [] })).toEqual(["- network shared of project admin !"]);
  });

  it("with ports are not deleted", async () => {
    await settle({ networks: [WEB] });
    const [id = ""] = parts.store.database.strings("SELECT id FROM network_networks WHERE name = 'web'");
    records().send("POST", "ports", { port: { network_id: id } });
    expect(() => describeSteps({ networks: [] })).toThrow(
      /^networks: network web of project demo is not in the file, but cannot be deleted: Unable to complete operation on network .* in use/,
    );
    expect(() => describeSteps({ networks: [{ ...WEB, subnets: [] }] })).toThrow(
      /^networks\.0\.subnets: subnet web-v4 of network web is not in the file, but cannot be deleted: /,
    );
  });

  it.each([
    [
      "networks.1.subnets.0 (bad): Invalid input for operation: 10.0.0.0/99",
      { ...WEB, name: "b", subnets: [{ name: "bad", cidr: "10.0.0.0/99" }] },
    ],
    [
      "networks.1.subnets.0 (s): there is no subnet pool none",
      { ...WEB, name: "b", subnets: [{ name: "s", subnet_pool: "none" }] },
    ],
    ["networks.1 (b): Invalid input for operation: Requested MTU is too big", { name: "b", mtu: 9000 }],
  ])("that the Network service rejects are named by their key: %s", (message, network) => {
    expect(() => describeSteps({ networks: [WEB, network] })).toThrow(message);
    expect(parts.store.database.number("SELECT count(*) FROM network_networks")).toBe(0);
  });
});

describe("routers of a cluster file", () => {
  it("connect networks of the file with an external one, and follow the file", async () => {
    const other = { name: "db", project: "demo", subnets: [{ name: "db-v4", cidr: "192.168.9.0/24" }] };
    const networks = [WEB, other];
    expect(await settle({ networks, routers: [EDGE] })).toContain("+ router edge of project demo");
    const routes = [{ destination: "10.9.0.0/16", nexthop: "192.168.9.9" }];
    expect(await settle({ networks, routers: [{ ...EDGE, subnets: ["db/db-v4"], routes }] })).toEqual([
      '~ router edge of project demo: subnets ["web-v4"] -> ["db/db-v4"], routes [] -> [{"destination":"10.9.0.0/16","nextho...',
    ]);
    expect(exportSections().routers).toEqual([{ ...EDGE, subnets: ["db-v4"], routes }]);
    const { external_network: _, ...closed } = EDGE;
    expect(await settle({ networks, routers: [{ ...closed, routes: [] }] })).toHaveLength(1);
    expect(exportSections().routers).toEqual([closed]);
  });

  it("go with their networks", async () => {
    await settle({ networks: [WEB], routers: [EDGE] });
    expect(await settle({ networks: [], routers: [] })).toEqual([
      "- router edge of project demo !",
      "- network web of project demo !",
    ]);
  });

  it.each([
    ["routers.0 (edge): there is no external network private", { ...EDGE, external_network: "private" }],
    ["routers.0 (edge): there is no subnet none", { ...EDGE, subnets: ["none"] }],
    [
      "routers.0 (edge): Invalid format for routes",
      { ...EDGE, routes: [{ destination: "10.0.0.0/8", nexthop: "1.2.3.4" }] },
    ],
  ])("are rejected with their key: %s", (message, router) => {
    expect(() => describeSteps({ networks: [WEB], routers: [router] })).toThrow(message);
  });
});

describe("security groups of a cluster file", () => {
  const group = {
    name: "web",
    project: "demo",
    rules: [
      { protocol: "tcp", port_range_min: 80, port_range_max: 80 },
      { protocol: "icmp", remote_ip_prefix: "10.0.0.0/8" },
      { protocol: "udp", remote_group: "db" },
    ],
  };
  const securityGroups = [group, { name: "db", project: "demo", rules: [] }];

  it("have the rules of the file besides those of every group", async () => {
    expect(await settle({ securityGroups })).toEqual([
      "+ security group web of project demo",
      "+ security group db of project demo",
    ]);
    expect(exportSections().security_groups).toEqual(securityGroups);
    expect(
      parts.store.database.number(
        "SELECT count(*) FROM network_security_group_rules AS rule JOIN network_security_groups AS g ON g.id = rule.security_group_id WHERE g.name = 'web'",
      ),
    ).toBe(5);
    const rules = [{ protocol: "tcp", port_range_min: 443, port_range_max: 443 }, ...group.rules.slice(1)];
    expect(
      await settle({ securityGroups: [{ ...group, rules, description: "new" }, ...securityGroups.slice(1)] }),
    ).toEqual([
      "~ security group web of project demo: description  -> new",
      "~ security group web of project demo: rules 1 fewer, 1 new",
    ]);
    expect(await settle({ securityGroups: [] })).toEqual([
      "- security group web of project demo !",
      "- security group db of project demo !",
    ]);
  });

  it("may add rules to the group default, which stays", async () => {
    const own = [{ name: "default", project: "demo", rules: [{ protocol: "icmp" }] }];
    expect(await settle({ securityGroups: own })).toEqual([
      "~ security group default of project demo: belongs to the file",
      "~ security group default of project demo: rules 1 new",
    ]);
    expect(await settle({ securityGroups: [] })).toEqual(["~ security group default of project demo: rules 1 fewer"]);
  });

  it("with an unknown remote group are rejected with their key", () => {
    const wrong = { ...group, rules: [{ remote_group: "none" }] };
    expect(() => describeSteps({ securityGroups: [wrong] })).toThrow(
      "security_groups.0 (web): there is no security group none in the project",
    );
  });
});

it("floating IPs of a cluster file are reserved for their project until the file no longer has them", async () => {
  const floatingIps = [{ address: "172.24.4.80", network: "public", project: "demo" }];
  expect(await settle({ floatingIps })).toEqual(["+ floating IP 172.24.4.80 of project demo"]);
  expect(
    await settle({ floatingIps: [{ ...floatingIps[0], address: "172.24.4.80", network: "public", project: "admin" }] }),
  ).toEqual(["- floating IP 172.24.4.80 !", "+ floating IP 172.24.4.80 of project admin"]);
  expect(() => describeSteps({ floatingIps: [{ address: "10.0.0.1", network: "public" }] })).toThrow(
    /^floating_ips\.0 \(10\.0\.0\.1\): /,
  );
});

it("keys that a file does not have change nothing", async () => {
  await settle({ networks: [WEB], routers: [EDGE] });
  expect(describeSteps({})).toEqual([]);
});
