import { describe, expect, it } from "vitest";
import { unservable, unservableMove } from "../../../../src/nova-rpc/compute-server/parameters.js";
import { SERVED } from "../../../../src/nova-rpc/compute-server/served-methods.js";
import { type NovaObject, novaObject, overlaid } from "../../../../src/nova-rpc/objects/primitive.js";
import { recording } from "../../../fixtures/nova-recordings.js";

const [BUILD] = recording("zed", "build").filter(({ msg }) => msg.method === "build_and_run_instance");
const ARGS = BUILD?.msg.args ?? {};
const INSTANCE = ARGS.instance as NovaObject;

function networks(...requestedNetworks: readonly object[]): NovaObject {
  const objects = requestedNetworks.map((data) =>
    novaObject("NetworkRequest", "1.3", { network_id: null, port_id: null, ...data }),
  );
  return novaObject("NetworkRequestList", "1.1", { objects });
}

const volume = novaObject("BlockDeviceMappingList", "1.18", {
  objects: ["local", "volume"].map((destination_type) =>
    novaObject("BlockDeviceMapping", "1.20", { destination_type }),
  ),
});
const pci = novaObject("InstancePCIRequests", "1.1", {
  requests: [novaObject("InstancePCIRequest", "1.3", { count: 1 })],
});
const numa = novaObject("InstanceNUMATopology", "1.3", { cells: [] });

describe("the unservable requirements of a new server", () => {
  it("are empty for the recorded messages", () => {
    expect(unservable(ARGS, { ignoreNetworks: false })).toBeNull();
  });

  it.each<[string, object, RegExp]>([
    [
      "a network",
      { requested_networks: networks({ network_id: "n1" }) },
      /attaches no networks: .* --nic none, .*: network n1\)/,
    ],
    ["a port", { requested_networks: networks({ port_id: "p1" }) }, /requested: port p1\)/],
    ["any network", { requested_networks: networks({ network_id: "auto" }) }, /requested: any network\)/],
    ["a volume", { block_device_mapping: volume }, /attaches no volumes, and 1 of them/],
    ["PCI devices", { instance: overlaid(INSTANCE, { pci_requests: pci }) }, /has no PCI devices/],
    [
      "a NUMA topology",
      { instance: overlaid(INSTANCE, { numa_topology: numa }) },
      /has no NUMA topologies or dedicated processors/,
    ],
    ["accelerators", { accel_uuids: ["a1"] }, /has no accelerators/],
  ])("%s", (_what, args, text) => {
    expect(unservable({ ...ARGS, ...args }, { ignoreNetworks: false })).toMatch(text);
  });

  it("contain volumes but no networks if networks are ignored", () => {
    const args = { ...ARGS, requested_networks: networks({ network_id: "n1" }) };
    expect(unservable(args, { ignoreNetworks: true })).toBeNull();
    expect(unservable({ ...args, block_device_mapping: volume }, { ignoreNetworks: true })).toMatch(
      /^this host attaches no volumes/,
    );
  });

  it("are passed to the agent, which reports them in the server's fault", async () => {
    const tools = { host: "h", requestId: "r", ignoreNetworks: false } as never;
    const { build_and_run_instance: build } = SERVED;
    const args = { ...ARGS, requested_networks: networks({ network_id: "n1" }) };
    expect(await build?.(args, tools)).toMatchObject({ params: { unservable: expect.stringContaining("--nic none") } });
    expect(await build?.(ARGS, tools)).not.toHaveProperty("params.unservable");
  });
});

const COMING = [
  ["prep_resize", "resize"],
  ["check_can_live_migrate_destination", "live-migrate"],
  ["rebuild_instance", "evacuate"],
  ["unshelve_instance", "unshelve-offloaded"],
] as const;

describe("the unservable requirements of a server that moves here", () => {
  const none = async () => novaObject("BlockDeviceMappingList", "1.18", { objects: [] });
  const argsOf = (method: string, phase: string) =>
    recording("zed", phase).find(({ key, msg }) => key?.startsWith("compute.") && msg.method === method)?.msg.args ??
    {};
  const withPorts = (args: Readonly<Record<string, unknown>>) => {
    const network_info = JSON.stringify([{ id: "p1" }, { id: "p2" }]);
    const info_cache = novaObject("InstanceInfoCache", "1.5", { network_info });
    return { ...args, instance: overlaid(args.instance as NovaObject, { info_cache }) };
  };

  it.each(COMING)("%s: none in the recorded message", async (method, phase) => {
    expect(await unservableMove(argsOf(method, phase), { ignoreNetworks: false, blockDevices: none })).toBeNull();
  });

  it.each(COMING)("%s: ports, unless networks are ignored; volumes, from their records", async (method, phase) => {
    const args = withPorts(argsOf(method, phase));
    const blockDevices = async () => volume;
    expect(await unservableMove(args, { ignoreNetworks: false, blockDevices })).toMatch(
      /^this host attaches no networks: .*\(it has: port p1, port p2\); this host attaches no volumes, and the server has 1 of/,
    );
    expect(await unservableMove(args, { ignoreNetworks: true, blockDevices: none })).toBeNull();
  });

  it("volumes are read from the message if it has them, devices from the request spec", async () => {
    const args = argsOf("rebuild_instance", "evacuate");
    const blockDevices = () => Promise.reject(new Error("not asked for"));
    const tools = { ignoreNetworks: false, blockDevices };
    expect(await unservableMove({ ...args, bdms: volume }, tools)).toMatch(/^this host attaches no volumes/);
    const request_spec = overlaid(args.request_spec as NovaObject, { pci_requests: pci, numa_topology: numa });
    expect(await unservableMove({ ...args, bdms: await none(), request_spec }, tools)).toBe(
      "this host has no PCI devices and no NUMA topologies or dedicated processors: use a flavor and an image that need none",
    );
  });

  it.each(COMING)("%s: they are passed to the agent", async (method, phase) => {
    const tools = {
      ...{ host: "h", requestId: "r", ignoreNetworks: false, blockDevices: none },
      setDestination: async () => {},
    };
    const args = argsOf(method, phase);
    expect(await SERVED[method]?.(withPorts(args), tools as never)).toMatchObject({
      params: { unservable: expect.stringContaining("port p1") },
    });
    expect(await SERVED[method]?.(args, tools as never)).not.toHaveProperty("params.unservable");
  });
});
