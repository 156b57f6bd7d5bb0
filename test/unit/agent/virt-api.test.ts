import { expect, test } from "vitest";
import { ConductorVirtApi } from "../../../src/agent/lifecycle/driver-context.js";
import { VirtualWorld } from "../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../fixtures/empty-store.js";
import { StoreSession } from "../../fixtures/tracker-session.js";

const SIZE = {
  hostIp: null,
  vcpus: 0,
  memoryMb: 0,
  localGb: 0,
  vcpusUsed: 0,
  memoryMbUsed: 0,
  localGbUsed: 0,
  freeRamMb: 0,
  freeDiskGb: 0,
  runningVms: 0,
  currentWorkload: 0,
  diskAvailableLeast: null,
  hypervisorVersion: 1,
  cpuInfo: "",
  supportedHvSpecs: [],
  cpuAllocationRatio: 1,
  ramAllocationRatio: 1,
  diskAllocationRatio: 1,
  stats: {},
  metrics: "[]",
  numaTopology: null,
  pciDevicePools: [],
};

test("8.6 live hosts are those of enabled services that are up and have a node of the type", async () => {
  const runtime = new VirtualWorld({ seed: 1 }).spawn({ name: "world" });
  const store = emptyStore({ runtime });
  const host = (name: string, hypervisorType: string) => {
    const service = store.services.create({ host: name, binary: "nova-compute", topic: "compute", version: 73 });
    const uuid = runtime.random.uuid();
    const resources = { ...SIZE, hypervisorType };
    store.computeNodes.create({ host: name, serviceId: service.id, uuid, hypervisorHostname: uuid, resources });
    return service;
  };
  host("ironic-a", "ironic");
  host("libvirt", "QEMU");
  store.services.update(host("fenced", "ironic").id, { forcedDown: true });
  store.services.update(host("disabled", "ironic").id, { disabled: true });
  store.services.create({ host: "no-node", binary: "nova-compute", topic: "compute", version: 73 });
  const api = new ConductorVirtApi({
    host: "ironic-a",
    conductor: new StoreSession("ironic-a", store, {}),
    ports: { plug: async () => {} },
    clock: runtime.clock,
    serviceDownTime: 60_000,
  });
  expect(await api.liveHosts("ironic")).toEqual(["ironic-a"]);
  expect(await api.instanceUuidsOfHost()).toEqual([]);
  expect(await api.instanceStates(runtime.random.uuid())).toBeNull();
});
