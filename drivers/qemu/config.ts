import { isAbsolute } from "node:path";
import {
  compileDriverConfig,
  type DriverConfig,
  type DriverConfigSchema,
  InvalidConfiguration,
} from "../../src/virt/index.js";

/** The `[qemu]` section of nova.conf. */
export const qemuSchema = {
  section: "qemu",
  options: {
    folder: {
      type: "text",
      default: null,
      help:
        "Folder of the guests, as an absolute path: definitions, disks, running processes. It is created at its first " +
        "use, and its guests outlive the agent.",
    },
    images_path: {
      type: "text",
      default: null,
      help:
        "Folder of images that have no data in the Image service, as an absolute path: <id>.qcow2 or <id>.raw. A guest whose " +
        "image has no data gets an empty disk. Unset: images/ in folder.",
    },
    instances_path: {
      type: "text",
      default: null,
      help: "Folder of the guests' disks, as an absolute path. Hosts can share it. Unset: instances/ in folder.",
    },
    binary: { type: "text", default: "qemu-system-x86_64", help: "QEMU program: a path, or a name in PATH." },
    img_binary: { type: "text", default: "qemu-img", help: "qemu-img program: a path, or a name in PATH." },
    machine: { type: "text", default: "pc", help: "Machine type of new guests, as for `-machine`." },
    cpu: { type: "text", default: "max", help: "CPU model of new guests, as for `-cpu`." },
    kvm: {
      type: "text",
      default: "auto",
      choices: ["auto", "never"],
      help: "Use of KVM. auto: guests run under KVM if a test of it succeeds. never: their CPU is emulated, which is slow.",
    },
    memory_overhead_mb: {
      type: "integer",
      default: 64,
      min: 0,
      help: "Memory overhead of each guest in MiB, which is counted as used.",
    },
    vcpus: { type: "integer", default: null, min: 1, help: "Number of host CPUs. Unset: all CPUs of the machine." },
    memory_mb: { type: "integer", default: null, min: 1, help: "Memory in MiB. Unset: all memory of the machine." },
    disk_gb: {
      type: "integer",
      default: null,
      min: 0,
      help: "Disk space in GiB. Unset: the size of the folder's file system.",
    },
    wait_soft_reboot_seconds: {
      type: "integer",
      default: 120,
      min: 0,
      help: "Seconds that a soft reboot waits for the guest to shut down before it becomes a hard reboot.",
    },
    start_timeout: {
      type: "integer",
      default: 60,
      min: 1,
      help: "Timeout in seconds for the first response of a new QEMU process.",
    },
  },
} as const satisfies DriverConfigSchema;

export type QemuConfig = Omit<DriverConfig<typeof qemuSchema>, "folder"> & { readonly folder: string };

/** @throws {InvalidConfiguration} */
export function compileQemuConfig(raw: Readonly<Record<string, unknown>>): QemuConfig {
  const config = compileDriverConfig(qemuSchema, raw);
  for (const name of ["folder", "imagesPath", "instancesPath"] as const) {
    const path = config[name];
    if (path !== null && !isAbsolute(path)) {
      throw new InvalidConfiguration(`[qemu] ${snake(name)}: found ${path}, expected an absolute folder`);
    }
  }
  const { folder } = config;
  if (folder === null) {
    throw new InvalidConfiguration(
      "[qemu] folder: found nothing, and there is no default; expected an absolute folder",
    );
  }
  return { ...config, folder };
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
