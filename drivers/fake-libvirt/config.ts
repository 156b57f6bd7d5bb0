import { compileDriverConfig, type DriverConfig, type DriverConfigSchema } from "../../src/virt/index.js";
import { CPU_MODEL_NAMES } from "./host-cpu.js";

function delay(of: string) {
  return { type: "number", default: 0, min: 0, help: `Duration of ${of} in seconds; fractions are allowed.` } as const;
}

/** The `[fake_libvirt]` section of nova.conf. */
export const fakeLibvirtSchema = {
  section: "fake_libvirt",
  options: {
    connection_uri: {
      type: "text",
      default: null,
      help:
        "Hypervisor: fake-libvirt:///absolute/folder. The folder is created at its first use, and its guests outlive the " +
        "agent.",
    },
    hypervisor_hostname: {
      type: "text",
      default: null,
      help: "Name of the hypervisor, which is stored at its first use. Unset: the name of the first agent's host.",
    },
    vcpus: { type: "integer", default: 8, min: 1, help: "Number of host CPUs." },
    memory_mb: { type: "integer", default: 32_768, min: 1, help: "Memory of the host in MiB." },
    disk_gb: { type: "integer", default: 1_000, min: 0, help: "Disk space for guests in GiB." },
    cpu_model: {
      type: "text",
      default: "Cascadelake-Server",
      choices: CPU_MODEL_NAMES,
      help: "CPU model of the host. Its features become traits of the compute node; generic has none.",
    },
    cpu_dedicated_set: {
      type: "text",
      default: null,
      help: "Host CPUs for pinned guests, for example 4-7,^6,12. They are PCPU inventory instead of VCPU inventory.",
    },
    hypervisor_type: {
      type: "text",
      default: "fake-libvirt",
      help:
        "Reported type of the hypervisor. Live migrations need hypervisors of the same type. Nova's fake drivers report " +
        "fake.",
    },
    hypervisor_version: {
      type: "integer",
      // QEMU 8.2.0 as libvirt encodes it: major * 1,000,000 + minor * 1,000 + release.
      default: 8_002_000,
      min: 0,
      help:
        "Reported version of the hypervisor. Live migrations to an older version are rejected. Nova's fake drivers report " +
        "1000.",
    },
    images_type: {
      type: "text",
      default: "qcow2",
      choices: ["qcow2", "raw"],
      help: "Reported format of root disks.",
    },
    instances_path: {
      type: "text",
      default: null,
      help: "Folder of the guests' disks, as an absolute path. Unset: instances/ in the folder of connection_uri.",
    },
    shared_instances: {
      type: "boolean",
      default: false,
      help:
        "Whether hosts share instances_path. If so, the compute node has no DISK_GB inventory once a sharing provider " +
        "in one of its aggregates has DISK_GB.",
    },
    devices: {
      type: "list",
      default: [],
      help:
        "Host devices as <PCI address>=<resource class>[:<number of guests that can use it>], for example " +
        "0000:81:00.0=VGPU:4, 0000:82:00.0=CUSTOM_PCI_10DE_1DB4. Each is a child provider of the compute node.",
    },
    nested_devices: {
      type: "boolean",
      default: true,
      help:
        "Whether devices are child providers. False: they are inventory of the compute node. After a change to true, the next start moves inventory and " +
        "allocations to child providers (a reshape).",
    },
    allow_disk_shrink: {
      type: "boolean",
      default: false,
      help: "Whether a resize can shrink disks, as with Nova's fake driver. False: it is rejected, as by libvirt.",
    },
    delay_spawn: delay("a spawn"),
    delay_destroy: delay("a destroy"),
    delay_power_on: delay("a start"),
    delay_power_off: delay("a stop"),
    delay_reboot: delay("a reboot"),
    delay_pause: delay("a pause"),
    delay_unpause: delay("an unpause"),
    delay_suspend: delay("a suspend"),
    delay_resume: delay("a resume"),
    delay_rescue: delay("a rescue"),
    delay_unrescue: delay("an unrescue"),
    delay_snapshot: delay("a snapshot"),
    delay_migrate_disk: delay("stopping a guest and preparing its disks for a cold migration or resize"),
    delay_finish_migration: delay("creating the guest at the destination of a cold migration or resize"),
    delay_confirm_migration: delay("cleaning up the source of a confirmed migration"),
    delay_revert_migration: delay("restoring the guest at the source of a reverted migration"),
    delay_pre_live_migration: delay("preparing the destination of a live migration"),
    delay_live_migration: delay("copying memory and local disks in a live migration"),
    live_migration_permit_post_copy: {
      type: "boolean",
      default: true,
      help:
        "Whether a live migration that is forced to complete starts the guest at the destination first and copies the rest " +
        "afterwards. False: the guest is paused until the rest is copied.",
    },
    stop_event_delay: {
      type: "number",
      default: 15,
      min: 0,
      help: "Seconds by which the report of a stopped guest is delayed, so that a reboot does not appear as a stop.",
    },
  },
} as const satisfies DriverConfigSchema;

export type FakeLibvirtConfig = DriverConfig<typeof fakeLibvirtSchema>;

/** @throws {InvalidConfiguration} */
export function compileFakeLibvirtConfig(raw: Readonly<Record<string, unknown>>): FakeLibvirtConfig {
  return compileDriverConfig(fakeLibvirtSchema, raw);
}
