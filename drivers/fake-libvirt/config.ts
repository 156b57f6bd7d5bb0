import { compileDriverConfig, type DriverConfig, type DriverConfigSchema } from "../../src/virt/index.js";
import { CPU_MODEL_NAMES } from "./host-cpu.js";

function delay(of: string) {
  return { type: "number", default: 0, min: 0, help: `Seconds that ${of} takes. Fractions are good.` } as const;
}

/** The `[fake_libvirt]` section of nova.conf. */
export const fakeLibvirtSchema = {
  section: "fake_libvirt",
  options: {
    connection_uri: {
      type: "text",
      default: null,
      help: "The hypervisor: fake-libvirt:///absolute/folder. The folder is made when it is first used.",
    },
    hypervisor_hostname: {
      type: "text",
      default: null,
      help: "Name of the hypervisor, stored in it when it is first used. Unset: the host of the agent that does so.",
    },
    vcpus: { type: "integer", default: 8, min: 1, help: "Host CPUs." },
    memory_mb: { type: "integer", default: 32_768, min: 1, help: "Memory of the host in MiB." },
    disk_gb: { type: "integer", default: 1_000, min: 0, help: "Room for instance disks in GiB." },
    cpu_model: {
      type: "text",
      default: "Cascadelake-Server",
      choices: CPU_MODEL_NAMES,
      help: "The modelled CPU; its features become traits of the node. generic has none.",
    },
    cpu_dedicated_set: {
      type: "text",
      default: null,
      help: "Host CPUs for pinned guests, as 4-7,^6,12: they are PCPU inventory and no longer VCPU.",
    },
    hypervisor_type: {
      type: "text",
      default: "fake-libvirt",
      help: "What the hypervisor calls itself. Servers migrate live between hypervisors of one type; nova's own fakes say fake.",
    },
    hypervisor_version: {
      type: "integer",
      // QEMU 8.2.0 as libvirt encodes it: major * 1,000,000 + minor * 1,000 + release.
      default: 8_002_000,
      min: 0,
      help: "Its version. Servers do not migrate live to a hypervisor that is older; nova's own fakes say 1000.",
    },
    images_type: {
      type: "text",
      default: "qcow2",
      choices: ["qcow2", "raw"],
      help: "Format that root disks are said to have.",
    },
    instances_path: {
      type: "text",
      default: null,
      help: "Absolute folder of instance disks. Unset: instances/ in the connection's folder.",
    },
    shared_instances: {
      type: "boolean",
      default: false,
      help:
        "The folder of instances is shared between hosts: the node has no DISK_GB of its own once a sharing provider " +
        "in one of its aggregates has it.",
    },
    devices: {
      type: "list",
      default: [],
      help:
        "Host devices as <PCI address>=<resource class>[:<how many guests can use it>], for example " +
        "0000:81:00.0=VGPU:4, 0000:82:00.0=CUSTOM_PCI_10DE_1DB4. Each is a child provider of the node.",
    },
    nested_devices: {
      type: "boolean",
      default: true,
      help:
        "False: devices are inventory of the node itself. Turned on later, the next start moves inventory and " +
        "allocations to child providers (a reshape).",
    },
    allow_disk_shrink: {
      type: "boolean",
      default: false,
      help: "A resize may make disks smaller, as Nova's own fake driver lets it. False: it is refused, as by libvirt.",
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
    delay_migrate_disk: delay("stopping a guest and setting its disks aside for another host, or for a resize,"),
    delay_finish_migration: delay("taking the guest at the destination of a cold migration or resize"),
    delay_confirm_migration: delay("removing what a confirmed migration left at the source"),
    delay_revert_migration: delay("bringing a guest back to the source of a reverted migration"),
    delay_pre_live_migration: delay("making the destination of a live migration ready"),
    delay_live_migration: delay("copying the memory, and local disks, of a guest that migrates live"),
    live_migration_permit_post_copy: {
      type: "boolean",
      default: true,
      help:
        "A live migration that is forced to complete starts the guest at the destination first and copies the rest " +
        "after that. False: the guest is paused until the rest is copied.",
    },
    stop_event_delay: {
      type: "number",
      default: 15,
      min: 0,
      help: "Seconds that news of a stopped guest is held back, so that a reboot does not look like a stop.",
    },
  },
} as const satisfies DriverConfigSchema;

export type FakeLibvirtConfig = DriverConfig<typeof fakeLibvirtSchema>;

/** @throws {InvalidConfiguration} */
export function compileFakeLibvirtConfig(raw: Readonly<Record<string, unknown>>): FakeLibvirtConfig {
  return compileDriverConfig(fakeLibvirtSchema, raw);
}
