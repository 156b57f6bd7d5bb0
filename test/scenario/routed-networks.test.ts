import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

/** Each host is in a rack of its own, whose physical network no other host reaches. */
const RACKS = { devstack1: "rack1", devstack2: "rack2" } as const;
const PREFIXES = { devstack1: "10.1.", devstack2: "10.2." } as const;

type Host = keyof typeof RACKS;

const HOSTS = Object.keys(RACKS) as Host[];

let cloud: VirtualCloud;
let networkId: string;
const runtimes = new Map<Host, VirtualRuntime>();

beforeEach(async () => {
  // Nova's agents attach no networks.
  cloud = await VirtualCloud.open({ nova: undefined });
  for (const host of HOSTS) {
    await start(host);
  }
  networkId = await createRoutedNetwork();
});
afterEach(() => cloud.close());

async function start(host: Host, bridgeMappings = `${RACKS[host]}:br-rack`, process = `agent-${host}`): Promise<void> {
  const { runtime } = await cloud.agent(host, { process, sections: { ovs: { bridge_mappings: bridgeMappings } } });
  runtimes.set(host, runtime);
}

async function create(collection: string, singular: string, values: object): Promise<string> {
  const { json } = await cloud.request("POST", `/network/v2.0/${collection}`, { [singular]: values });
  return (json[singular] as { id: string }).id;
}

async function createRoutedNetwork(): Promise<string> {
  for (const name of Object.values(RACKS)) {
    const range = { name, network_type: "vlan", physical_network: name, minimum: 100, maximum: 199 };
    await create("network_segment_ranges", "network_segment_range", { ...range, shared: true });
  }
  const provider = { "provider:network_type": "vlan", "provider:physical_network": "rack1" };
  const id = await create("networks", "network", { name: "routed", ...provider });
  const { json } = await cloud.request("GET", `/network/v2.0/segments?network_id=${id}`);
  const [first] = json.segments as { id: string }[];
  const second = { network_id: id, network_type: "vlan", physical_network: "rack2" };
  const segments = { devstack1: first?.id ?? "", devstack2: await create("segments", "segment", second) };
  for (const host of HOSTS) {
    const subnet = { network_id: id, ip_version: 4, cidr: `${PREFIXES[host]}0.0/24`, segment_id: segments[host] };
    await create("subnets", "subnet", subnet);
  }
  return id;
}

async function createServer(server: object): Promise<string> {
  const defaults = { name: "vm1", flavorRef: "1", imageRef: await cloud.image() };
  const reply = await cloud.compute("POST", "/servers", { server: { ...defaults, ...server } });
  return (reply.json.server as { id: string }).id;
}

async function active(id: string): Promise<void> {
  await cloud.serverIs(id, (server) => server?.status === "ACTIVE");
}

function addressesOf(id: string) {
  return cloud.ports.ofServer(id).flatMap(({ fixedIps }) => fixedIps.map(({ address }) => address));
}

describe("a server on a routed network", () => {
  test.each(HOSTS)("has an address of the segment that reaches %s", async (host) => {
    const id = await createServer({ networks: [{ uuid: networkId }], host });
    await active(id);
    expect(addressesOf(id)).toEqual([expect.stringMatching(`^${PREFIXES[host]}`)]);
  });

  test("gives a port without an address one when it is bound", async () => {
    const port = await create("ports", "port", { network_id: networkId });
    expect(cloud.ports.get(port)).toMatchObject({ ipAllocation: "deferred", fixedIps: [] });
    const id = await createServer({ networks: [{ port }], host: "devstack2" });
    await active(id);
    expect(addressesOf(id)).toEqual([expect.stringMatching("^10.2.")]);
  });
});

describe("the bridges of a host", () => {
  const mappings = async (host: Host) => {
    const { json } = await cloud.request("GET", `/network/v2.0/agents?host=${host}&binary=neutron-openvswitch-agent`);
    return (json.agents as { configurations: { bridge_mappings: object } }[])[0]?.configurations.bridge_mappings;
  };

  test("are those that its Open vSwitch agent reports", async () => {
    expect(await mappings("devstack2")).toEqual({ rack2: "br-rack" });
  });

  test("are the default again after a start without the option", async () => {
    runtimes.get("devstack2")?.kill();
    await cloud.agent("devstack2", { process: "agent-devstack2-again" });
    expect(await mappings("devstack2")).toEqual({ physnet1: "br-phys", public: "br-ex" });
    expect(await mappings("devstack1")).toEqual({ rack1: "br-rack" });
  });
});
