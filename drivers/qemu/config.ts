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
      help: "Absolute folder of the guests: definitions, disks, what runs. It is made when it is first used.",
    },
    images_path: {
      type: "text",
      default: null,
      help:
        "Absolute folder of images that the Image service has no bytes of, as <id>.qcow2 or <id>.raw. A guest whose image is " +
        "nowhere begins with an empty disk. Unset: images/ in the folder.",
    },
    instances_path: {
      type: "text",
      default: null,
      help: "Absolute folder of the guests' disks, which hosts may share. Unset: instances/ in the folder.",
    },
    binary: { type: "text", default: "qemu-system-x86_64", help: "QEMU, by path or as found in PATH." },
    img_binary: { type: "text", default: "qemu-img", help: "qemu-img, by path or as found in PATH." },
    machine: { type: "text", default: "pc", help: "Machine of new guests, as `-machine` has it." },
    cpu: { type: "text", default: "max", help: "CPU of new guests, as `-cpu` has it." },
    kvm: {
      type: "text",
      default: "auto",
      choices: ["auto", "never"],
      help: "auto: guests run under KVM where a try of it succeeds. never: the CPU is emulated, which is slow.",
    },
    memory_overhead_mb: {
      type: "integer",
      default: 64,
      min: 0,
      help: "MiB that a guest takes besides its own memory; counted as used.",
    },
    vcpus: { type: "integer", default: null, min: 1, help: "Host CPUs that are offered. Unset: those of the machine." },
    memory_mb: { type: "integer", default: null, min: 1, help: "MiB that are offered. Unset: the machine's memory." },
    disk_gb: { type: "integer", default: null, min: 0, help: "GiB that are offered. Unset: the folder's file system." },
    wait_soft_reboot_seconds: {
      type: "integer",
      default: 120,
      min: 0,
      help: "Seconds that a guest has to shut down in a soft reboot, before it is rebooted hard.",
    },
    start_timeout: { type: "integer", default: 60, min: 1, help: "Seconds that QEMU has until it answers." },
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
