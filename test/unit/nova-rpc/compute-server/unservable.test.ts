import { describe, expect, it } from "vitest";
import { SERVED } from "../../../../src/nova-rpc/compute-server/served-methods.js";
import { unservable } from "../../../../src/nova-rpc/compute-server/unservable.js";
import { type NovaObject, novaObject, overlaid } from "../../../../src/nova-rpc/objects/primitive.js";
import { recording } from "../../../fixtures/nova-recordings.js";

const [BUILD] = recording("zed", "build").filter(({ msg }) => msg.method === "build_and_run_instance");
const ARGS = BUILD?.msg.args ?? {};
const INSTANCE = ARGS.instance as NovaObject;

function networks(...asked: readonly object[]): NovaObject {
  const objects = asked.map((data) =>
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

describe("what a new server cannot have", () => {
  it("is nothing of what was recorded", () => {
    expect(unservable(ARGS, { ignoreNetworks: false })).toBeNull();
  });

  it.each<[string, object, RegExp]>([
    [
      "a network",
      { requested_networks: networks({ network_id: "n1" }) },
      /attaches no networks: .* --nic none, .*: network n1\)/,
    ],
    ["a port", { requested_networks: networks({ port_id: "p1" }) }, /asked for: port p1\)/],
    ["any network", { requested_networks: networks({ network_id: "auto" }) }, /asked for: any network\)/],
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

  it("networks are not among it where they are ignored; volumes are", () => {
    const args = { ...ARGS, requested_networks: networks({ network_id: "n1" }) };
    expect(unservable(args, { ignoreNetworks: true })).toBeNull();
    expect(unservable({ ...args, block_device_mapping: volume }, { ignoreNetworks: true })).toMatch(
      /^this host attaches no volumes/,
    );
  });

  it("goes with the message to the agent, which tells whoever asks for the server", async () => {
    const tools = { host: "h", requestId: "r", ignoreNetworks: false } as never;
    const { build_and_run_instance: build } = SERVED;
    const args = { ...ARGS, requested_networks: networks({ network_id: "n1" }) };
    expect(await build?.(args, tools)).toMatchObject({ params: { unservable: expect.stringContaining("--nic none") } });
    expect((await build?.(ARGS, tools))?.params).not.toHaveProperty("unservable");
  });
});
