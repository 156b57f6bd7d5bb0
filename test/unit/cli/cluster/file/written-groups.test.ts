import { describe, expect, it } from "vitest";
import type { GroupText } from "../../../../../src/cli/cluster/file/cluster-file.js";
import {
  keysOfOptions,
  readProviderConfig,
  writeProviderConfig,
} from "../../../../../src/cli/cluster/file/group-options.js";
import { flagsOf, keepFlags, readSavedFlags } from "../../../../../src/cli/cluster/file/up-flags.js";
import { clusterFileText } from "../../../../../src/cli/cluster/file/write-cluster-file.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { described } from "./read.js";

const GROUPS: readonly GroupText[] = [
  {
    name: "rack[1-2]",
    vcpus: 64,
    memory_mb: 4096,
    disk_gb: 0,
    devices: ["0000:81:00.0=VGPU:4", "0000:82:00.0=CUSTOM_X"],
    delays: { spawn: 0.5 },
    allocation_ratios: { cpu: 1.5, ram: 1, disk: 2 },
    options: { reserved_host_cpus: "1", "workarounds.upstream_quirks": ["zed", "all"] },
    traits: ["CUSTOM_A"],
    resources: { CUSTOM_SEAT: { total: 4, reserved: 1 } },
  },
  { name: "q", driver: "qemu", vcpus: 2, options: { "qemu.cpu": "max" }, config_files: [] },
];

describe("a written group", () => {
  it("equals the group that was read", async () => {
    const { groups = [] } = await described(clusterFileText({ hosts: [...GROUPS].map((group) => ({ ...group })) }));
    const { files } = createVirtualRuntime();
    for (const [at, { setting, providerConfig }] of groups.entries()) {
      if (providerConfig !== undefined) {
        await writeProviderConfig(providerConfig, files);
      }
      const { keys, others } = await readProviderConfig(setting.options ?? [], { root: "/state" }, files);
      const {
        name: _name,
        driver = "fake-libvirt",
        config_files: _files,
        ...groupOptions
      } = GROUPS[at] ?? { name: "" };
      expect({ ...keysOfOptions(others, driver.replace("-", "_")), ...keys }).toEqual(groupOptions);
    }
    expect(groups).toHaveLength(2);
  });

  it("has another provider.yaml as a plain option", async () => {
    const { files } = createVirtualRuntime();
    const options = ["compute.provider_config_location=/etc/nova/provider_config"];
    expect(await readProviderConfig(options, { root: "/state" }, files)).toEqual({ keys: {}, others: options });
  });
});

describe("saved flags", () => {
  it("equal the flags of the file", async () => {
    const fileOptions = {
      port: 0,
      listen: "[2001:db8::2]:8775",
      listen_without_tls: true,
      hosts_per_process: 5,
      allow_resize_to_same_host: true,
      reclaim_instance_interval: 60,
      service_delete_policy: "cascade" as const,
    };
    const { options } = await described(clusterFileText(fileOptions));
    expect(flagsOf(options)).toEqual(fileOptions);
    const { files } = createVirtualRuntime();
    await keepFlags(options, { root: "/state" }, files);
    expect(await readSavedFlags({ root: "/state" }, files)).toEqual(fileOptions);
    expect(await readSavedFlags({ root: "/none" }, files)).toBeUndefined();
    await files.write("/state/up.json", "{");
    expect(await readSavedFlags({ root: "/state" }, files)).toBeUndefined();
  });
});
