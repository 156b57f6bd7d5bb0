import { describe, expect, it } from "vitest";
import {
  dedicatedCpus,
  flavorResources,
  imagePropertiesOf,
  instanceResources,
  type ResourceRequest,
  resourceRequest,
  withImageProperties,
} from "../../../src/records/index.js";
import { aFlavor, anInstance } from "../../fixtures/records.js";

function flavor(extraSpecs: Readonly<Record<string, string>> = {}) {
  return aFlavor({ vcpus: 4, memoryMb: 512, rootGb: 10, ephemeralGb: 1, swap: 100, extraSpecs });
}
const OWN = { VCPU: 4, MEMORY_MB: 512, DISK_GB: 12 };

/** Abbreviates groups: `{ "": "DISK_GB=1 VCPU=2 +TRAIT !OTHER" }`. */
function short({ groups }: ResourceRequest): Record<string, string> {
  return Object.fromEntries(
    groups.map(({ suffix, resources, requiredTraits, forbiddenTraits }) => [
      suffix,
      [
        ...Object.entries(resources).map(([name, amount]) => `${name}=${amount}`),
        ...[...requiredTraits].map((trait) => `+${trait}`),
        ...[...forbiddenTraits].map((trait) => `!${trait}`),
      ]
        .sort()
        .join(" "),
    ]),
  );
}

function toResourceRequest(extraSpecs: Record<string, string>, imageProperties: Record<string, string> = {}) {
  return short(resourceRequest(flavor(extraSpecs), { imageProperties }));
}

describe("resourceRequest", () => {
  it("1.6 uses the amounts of the flavor's fields; a volume as root disk counts as none", () => {
    expect(flavorResources(flavor())).toEqual(OWN);
    expect(flavorResources(flavor(), { volumeBacked: true })).toEqual({ ...OWN, DISK_GB: 2 });
  });

  it("lets resources:RC override, add and remove; unknown classes and invalid amounts are ignored", () => {
    const specs = { "resources:VCPU": "0", "resources:CUSTOM_GOLD": " 2 ", "resources:DISK_GB": "3" };
    expect(flavorResources(flavor(specs))).toEqual({ MEMORY_MB: 512, CUSTOM_GOLD: 2, DISK_GB: 3 });
    const odd = { "resources:GOLD": "1", "resources:VGPU": "many", "resources:FPGA": "-1", "resources:PGPU": "1.5" };
    expect(flavorResources(flavor(odd))).toEqual(OWN);
  });

  it("separates groups by suffix; a class named in any of them is not taken from the flavor", () => {
    const specs = {
      "resources1:VGPU": "1",
      "trait1:CUSTOM_FAST": "required",
      resources_NIC: "no key of a group",
      "resources_NIC:SRIOV_NET_VF": "2",
      "resources_NIC:MEMORY_MB": "64",
      "trait_NIC:CUSTOM_SLOW": "forbidden",
      "trait:COMPUTE_NODE": "required",
      "trait:HW_CPU_X86_VMX": "whatever",
      group_policy: "isolate",
    };
    const request = resourceRequest(flavor(specs));
    expect(short(request)).toEqual({
      "": "+COMPUTE_NODE DISK_GB=12 VCPU=4",
      1: "+CUSTOM_FAST VGPU=1",
      _NIC: "!CUSTOM_SLOW MEMORY_MB=64 SRIOV_NET_VF=2",
    });
    expect(request.groups[0]?.suffix).toBe("");
    expect(request.groupPolicy).toBe("isolate");
    expect(resourceRequest(flavor({ group_policy: "both" })).groupPolicy).toBeNull();
    expect(flavorResources(flavor({ "resources1:VGPU": "1", "resources2:VGPU": "2" }))).toEqual({ ...OWN, VGPU: 3 });
  });

  it("requires the image's traits in the group without a suffix; images cannot forbid traits", () => {
    const image = { "trait:CUSTOM_A": "required", "trait:CUSTOM_B": "forbidden", os_type: "linux" };
    expect(toResourceRequest({}, image)).toEqual({ "": "+CUSTOM_A DISK_GB=12 MEMORY_MB=512 VCPU=4" });
  });

  it("requests PCPU if the flavor, or else the image, has dedicated CPUs", () => {
    const pinned = { "": "DISK_GB=12 MEMORY_MB=512 PCPU=4" };
    expect(toResourceRequest({ "hw:cpu_policy": "dedicated" })).toEqual(pinned);
    expect(toResourceRequest({}, { hw_cpu_policy: "dedicated" })).toEqual(pinned);
    expect(toResourceRequest({ "hw:cpu_policy": "shared" })).toEqual({ "": "DISK_GB=12 MEMORY_MB=512 VCPU=4" });
    expect(toResourceRequest({ "hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate" })).toEqual({
      "": "DISK_GB=12 MEMORY_MB=512 PCPU=5",
    });
    expect(toResourceRequest({ "hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0" })).toEqual({
      "": "DISK_GB=12 MEMORY_MB=512 PCPU=3 VCPU=1",
    });
    expect(toResourceRequest({ "resources:PCPU": "4" })).toEqual(pinned);
  });

  it("translates a thread policy to the hyper-threading trait", () => {
    const dedicated = { "hw:cpu_policy": "dedicated" };
    const own = "DISK_GB=12 MEMORY_MB=512 PCPU=4";
    expect(toResourceRequest({ ...dedicated, "hw:cpu_thread_policy": "isolate" })[""]).toBe(
      `!HW_CPU_HYPERTHREADING ${own}`,
    );
    expect(toResourceRequest({ ...dedicated, "hw:cpu_thread_policy": "require" })[""]).toBe(
      `+HW_CPU_HYPERTHREADING ${own}`,
    );
    expect(
      toResourceRequest({ ...dedicated, "hw:cpu_thread_policy": "prefer" }, { hw_cpu_thread_policy: "require" })[""],
    ).toBe(own);
    expect(toResourceRequest(dedicated, { hw_cpu_thread_policy: "require" })[""]).toBe(`+HW_CPU_HYPERTHREADING ${own}`);
  });
});

describe("dedicatedCpus", () => {
  it.each([
    ["0-1", [0, 1]],
    ["0,2-3,^2", [0, 3]],
    ["^0", [1, 2, 3]],
    ["^0-1,^3", [2]],
    ["7", []],
    ["", []],
  ])("%s of four", (mask, cpus) => {
    expect([...dedicatedCpus(4, mask)]).toEqual(cpus);
  });
});

describe("instanceResources", () => {
  it("use the image properties from the server's creation", () => {
    const systemMetadata = withImageProperties({ shelved_at: "1", image_old: "x" }, { hw_cpu_policy: "dedicated" });
    const instance = anInstance({ flavor: flavor(), imageRef: "image", systemMetadata });
    expect(systemMetadata).toEqual({ shelved_at: "1", image_hw_cpu_policy: "dedicated" });
    expect(imagePropertiesOf(instance)).toEqual({ hw_cpu_policy: "dedicated" });
    expect(instanceResources(instance)).toEqual({ PCPU: 4, MEMORY_MB: 512, DISK_GB: 12 });
    expect(instanceResources({ ...instance, imageRef: "" }, flavor({ "resources:DISK_GB": "0" }))).toEqual({
      PCPU: 4,
      MEMORY_MB: 512,
    });
  });
});
