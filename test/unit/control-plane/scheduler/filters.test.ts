import { describe, expect, it, test } from "vitest";
import { filterHosts } from "../../../../src/control-plane/scheduler/filters.js";
import {
  HostRecords,
  type HostState,
  hostStates,
  selectionOf,
} from "../../../../src/control-plane/scheduler/host-state.js";
import type { ScheduleRequest } from "../../../../src/control-plane/scheduler/schedule-request.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import type { AllocationCandidates, ProviderSummary } from "../../../../src/placement-client/types.js";
import type { RequestSpec, Service } from "../../../../src/records/index.js";
import { aComputeNode, aFlavor } from "../../../fixtures/records.js";
import { FILTERS } from "../../../fixtures/scheduler-rules.js";

const NOW = 1_000_000;
const CONTEXT = { now: NOW, serviceDownTime: 60_000, group: null, filters: FILTERS, hinted: {}, image: {} };
const SPEC: RequestSpec = {
  instanceUuid: "I",
  projectId: "p",
  userId: "u",
  flavor: aFlavor(),
  imageRef: "",
  isBfv: false,
  availabilityZone: null,
  numInstances: 1,
  schedulerHints: {},
};
const REQUEST: ScheduleRequest = { instanceUuid: "I", spec: SPEC, held: "replace", requestId: "r" };

function hostOf(service: Partial<Service> | null = {}, host = "h"): HostState {
  const up = { host, disabled: false, forcedDown: false, lastSeenUp: NOW, availabilityZone: "nova" };
  return {
    node: aComputeNode({ host, hypervisorHostname: `${host}-node`, uuid: `${host}-uuid` }),
    service: service === null ? null : ({ ...up, ...service } as Service),
    allocationRequest: { allocations: {} },
    resources: {},
  };
}

describe("the capabilities of a host", () => {
  const node = {
    ...hostOf().node,
    hypervisorType: "QEMU",
    hypervisorVersion: 8_002_000,
    cpuInfo: '{"arch": "x86_64", "features": ["sse2", "avx"], "topology": {"cores": 8}}',
    cpuAllocationRatio: 4,
    stats: { cpu_arch: "x86_64", num_instances: "2", boot_mode: "uefi" },
  };
  const passes = (
    extraSpecs: Readonly<Record<string, string>>,
    on: readonly string[] = ["ComputeCapabilitiesFilter"],
  ) => {
    const filters = new Set(on) as typeof FILTERS;
    const request = { ...REQUEST, spec: { ...SPEC, flavor: { ...SPEC.flavor, extraSpecs } } };
    return filterHosts([{ ...hostOf(), node }], request, { ...CONTEXT, filters }).passed.length === 1;
  };

  test.each<[string, string, boolean]>([
    ["capabilities:hypervisor_type", "QEMU", true],
    ["capabilities:hypervisor_type", "s== QEMU", true],
    ["capabilities:hypervisor_type", "s!= QEMU", false],
    ["capabilities:hypervisor_type", "<or> KVM <or> QEMU", true],
    ["capabilities:hypervisor_type", "<or> KVM <or> Xen", false],
    ["capabilities:hypervisor_type", "s>= R", false],
    ["capabilities:hypervisor_version", ">= 8001000", true],
    ["capabilities:hypervisor_version", "<= 8001000", false],
    ["capabilities:hypervisor_version", "= 8000000", true],
    ["capabilities:hypervisor_version", "== 8002000", true],
    ["capabilities:hypervisor_version", "!= 8002000", false],
    ["capabilities:hypervisor_version", ">= many", false],
    ["capabilities:cpu_info:arch", "x86_64", true],
    ["capabilities:cpu_info:features", "<in> avx", true],
    ["capabilities:cpu_info:features", "<all-in> avx sse2", true],
    ["capabilities:cpu_info:features", "<all-in> avx avx512f", false],
    ["capabilities:cpu_info:topology:cores", ">= 8", true],
    ["capabilities:cpu_info:topology:threads", ">= 1", false],
    ["capabilities:cpu_info:arch:bits", "64", false],
    ["capabilities:cpu_allocation_ratio", "4.0", true],
    ["capabilities:boot_mode", "uefi", true],
    ["capabilities:boot_mode", "bios", false],
    ["capabilities:no_such_thing", "x", false],
    ["capabilities:hypervisor_type", ">=", false],
    ["cpu_arch", "aarch64", false],
    ["hypervisor_type", "QEMU", true],
    ["the_operators_own", "x", true],
    ["quota:cpu_shares", "1", true],
    ["constructor", "x", true],
  ])("are compared as Nova compares them: %s=%s", (key, required, expected) => {
    expect(passes({ [key]: required })).toBe(expected);
    expect(passes({ [key]: required }, []), "the filter is off").toBe(true);
  });
});

describe("the properties of an image", () => {
  const node = {
    ...hostOf().node,
    hypervisorVersion: 8_002_000,
    supportedHvSpecs: [
      ["x86_64", "kvm", "hvm"],
      ["i686", "qemu", "hvm"],
    ] as const,
  };
  const passes = (image: Readonly<Record<string, string>>, more: object = {}) =>
    filterHosts([{ ...hostOf(), node: { ...node, ...more } }], REQUEST, { ...CONTEXT, image }).passed.length === 1;

  test.each<[Readonly<Record<string, string>>, boolean]>([
    [{}, true],
    [{ architecture: "x86_64" }, true],
    [{ hw_architecture: "AMD64" }, true],
    [{ hw_architecture: "aarch64" }, false],
    [{ architecture: "aarch64", hw_architecture: "x86_64" }, true],
    [{ hypervisor_type: "QEMU" }, true],
    [{ hypervisor_type: "xapi" }, false],
    [{ hypervisor_type: "qemu", architecture: "x86_64" }, false],
    [{ vm_mode: "hv" }, true],
    [{ hw_vm_mode: "xen" }, false],
    [{ img_hv_type: "kvm", hypervisor_version_requires: ">=8.1,<9.0" }, true],
    [{ img_hv_type: "kvm", img_hv_requested_version: "==8.2.0" }, true],
    [{ img_hv_type: "kvm", hypervisor_version_requires: "!=8.2" }, false],
    [{ img_hv_type: "kvm", hypervisor_version_requires: "<8.2" }, false],
    [{ hypervisor_version_requires: "<1.0" }, true],
  ])("decide with what the host supports: %j", (image, expected) => {
    expect(passes(image)).toBe(expected);
    const filters = new Set<never>();
    const off = filterHosts([{ ...hostOf(), node }], REQUEST, { ...CONTEXT, image, filters });
    expect(off.passed, "the filter is off").toHaveLength(1);
  });

  it("are not met by a host without reported support; an unknown version meets any", () => {
    expect(passes({ architecture: "x86_64" }, { supportedHvSpecs: [] })).toBe(false);
    const required = { architecture: "x86_64", hypervisor_version_requires: ">9.0" };
    expect(passes(required, { hypervisorVersion: 0 })).toBe(true);
  });
});

describe("a host", () => {
  test.each<[string, Partial<Service> | null, Partial<ScheduleRequest>, string | null, boolean]>([
    ["that nothing speaks against", {}, {}, null, false],
    ["without a service", null, {}, "without a compute service", false],
    ["that is disabled", { disabled: true }, {}, "disabled", false],
    ["that is forced down", { forcedDown: true }, {}, "forced down", false],
    ["that was heard of a minute ago", { lastSeenUp: NOW - 60_000 }, {}, null, false],
    ["that was not", { lastSeenUp: NOW - 60_001 }, {}, "down (no heartbeat)", false],
    ["that is ignored", {}, { ignoreHosts: ["h"] }, "ignored", false],
    ["that is requested", {}, { requestedHost: "h", requestedNode: "h-node" }, null, true],
    ["beside the requested one", {}, { requestedHost: "x" }, "not the requested one", true],
    ["whose node is not", {}, { requestedHost: "h", requestedNode: "x" }, "not the requested one", true],
    ["in the zone", {}, { spec: { ...SPEC, availabilityZone: "nova" } }, null, false],
    ["in another", {}, { spec: { ...SPEC, availabilityZone: "az2" } }, "not in availability zone az2", false],
  ])("%s", (_what, service, more, rejection, holdsForForced) => {
    const host = hostOf(service);
    const runFilters = (forced: boolean) => filterHosts([host], { ...REQUEST, ...more, forced }, CONTEXT);
    const rejected = rejection === null ? [] : [[rejection, 1]];
    expect({ ...runFilters(false), rejected: [...runFilters(false).rejected] }).toEqual({
      passed: rejection ? [] : [host],
      rejected,
    });
    const { passed } = runFilters(true);
    expect(passed).toEqual(rejection !== null && holdsForForced ? [] : [host]);
  });

  test.each<[string, string[], Record<string, ReadonlySet<string>>, string | null]>([
    ["with a server of same_host", ["SameHostFilter"], { same_host: new Set(["h", "x"]) }, null],
    ["without one", ["SameHostFilter"], { same_host: new Set(["x"]) }, "without a server of same_host"],
    ["when those servers are nowhere", ["SameHostFilter"], { same_host: new Set() }, "without a server of same_host"],
    ["without one, and the filter is off", [], { same_host: new Set(["x"]) }, null],
    ["without one of different_host", ["DifferentHostFilter"], { different_host: new Set(["x"]) }, null],
    ["with one", ["DifferentHostFilter"], { different_host: new Set(["h"]) }, "with a server of different_host"],
    ["with one, and the filter is off", [], { different_host: new Set(["h"]) }, null],
  ])("%s", (_what, on, hinted, rejection) => {
    const filters = new Set([...FILTERS, ...on]) as typeof FILTERS;
    const { rejected } = filterHosts([hostOf()], REQUEST, { ...CONTEXT, filters, hinted });
    expect([...rejected.keys()]).toEqual(rejection === null ? [] : [rejection]);
  });

  it("passes if the filter that would reject it is disabled", () => {
    const filters = new Set<never>();
    const { passed } = filterHosts([hostOf({ disabled: true })], REQUEST, { ...CONTEXT, filters });
    expect(passed).toHaveLength(1);
  });

  it("is checked in the order of the filters", () => {
    const getRejections = (service: Partial<Service> | null, more: Partial<ScheduleRequest>) => [
      ...filterHosts([hostOf(service)], { ...REQUEST, ...more }, CONTEXT).rejected.keys(),
    ];
    const all = { ignoreHosts: ["h"], requestedHost: "x", spec: { ...SPEC, availabilityZone: "az2" } };
    expect(getRejections(null, all)).toEqual(["ignored"]);
    expect(getRejections(null, { ...all, ignoreHosts: [] })).toEqual(["not the requested one"]);
    expect(getRejections(null, { spec: all.spec })).toEqual(["without a compute service"]);
  });

  it("is rejected for the first reason, and hosts are counted by reason", () => {
    const hosts = [hostOf({ disabled: true }), hostOf({ disabled: true, forcedDown: true }, "x"), hostOf({}, "y")];
    const request = { ...REQUEST, ignoreHosts: ["y"] };
    const { passed, rejected } = filterHosts([...hosts, hostOf({}, "z")], request, CONTEXT);
    expect(passed.map(({ node }) => node.host)).toEqual(["z"]);
    expect([...rejected]).toEqual([
      ["disabled", 2],
      ["ignored", 1],
    ]);
  });
});

describe("Placement's candidates", () => {
  const summary = (rootUuid: string, resources: ProviderSummary["resources"] = {}): ProviderSummary => ({
    resources,
    rootUuid,
  });
  const on = (...uuids: readonly string[]) => ({
    allocations: Object.fromEntries(uuids.map((uuid) => [uuid, { resources: { VCPU: 1 } }])),
  });
  const states = (candidates: AllocationCandidates, known: readonly string[] = ["a", "b"]) => {
    const queries: string[] = [];
    const store = {
      computeNodes: {
        byUuids: (uuids: readonly string[]) =>
          known.filter((uuid) => uuids.includes(uuid)).map((uuid) => aComputeNode({ uuid, host: `host-${uuid}` })),
      },
      services: {
        byHosts: (hosts: readonly string[], binary: string) => {
          queries.push(`${binary} of ${hosts.join(", ")}`);
          return hosts.filter((host) => host !== "host-b").map((host) => ({ host }));
        },
      },
      onChange: () => () => {},
    };
    return { ...hostStates(new HostRecords(store as unknown as Store), candidates), queries: queries };
  };

  it("are joined with the nodes of their roots, capacities and usages, and services", () => {
    const one = on("a", "nfs");
    const two = on("a-child");
    const three = on("b");
    const { hosts, unknown, queries } = states({
      allocationRequests: [one, two, three],
      providerSummaries: new Map([
        ["a", summary("a", { VCPU: { capacity: 8, used: 3 }, MEMORY_MB: { capacity: 100, used: 100 } })],
        ["a-child", summary("a", { VGPU: { capacity: 1, used: 0 } })],
        ["nfs", summary("nfs")],
        ["b", summary("b")],
      ]),
      version: "1.36",
    });
    expect(hosts).toEqual([
      {
        node: expect.objectContaining({ uuid: "a" }),
        service: { host: "host-a" },
        allocationRequest: one,
        resources: { VCPU: { capacity: 8, used: 3 }, MEMORY_MB: { capacity: 100, used: 100 } },
      },
      { node: expect.objectContaining({ uuid: "b" }), service: null, allocationRequest: three, resources: {} },
    ]);
    expect([unknown, queries]).toEqual([0, ["nova-compute of host-a, host-b"]]);
  });

  it("without a compute node are counted, except shared ones", () => {
    const { hosts, unknown } = states(
      {
        allocationRequests: [on("a", "nfs"), on("x", "nfs"), on("y"), on("y")],
        providerSummaries: new Map(),
        version: "1.36",
      },
      ["a"],
    );
    expect([hosts.length, unknown]).toEqual([1, 3]);
  });

  it("a selection has the first allocation request, with its version", () => {
    const host = { ...hostOf(), allocationRequest: on("a") };
    expect(selectionOf(host, "1.36")).toEqual({
      host: "h",
      node: "h-node",
      computeNodeUuid: "h-uuid",
      allocationRequest: on("a").allocations,
      allocationRequestVersion: "1.36",
    });
  });
});
