import type { AvailableResource, DriverContext } from "../../src/virt/index.js";
import type { QemuConfig } from "./config.js";
import type { Definition } from "./definition.js";

const GIB = 1024 ** 3;

/** The machine's resources, and QEMU's version. */
export interface HostAttributes {
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly diskGb: number;
  readonly diskFreeGb: number;
  /** Read from /proc/cpuinfo. */
  readonly cpuModel: string;
  readonly cpuVendor: string;
  readonly cpuFlags: readonly string[];
}

/** Reads /proc and the file system of `folder`, unless options override the values. */
export async function readHostAttributes(
  folder: string,
  config: QemuConfig,
  { files, processes }: Pick<DriverContext, "files" | "processes">,
): Promise<HostAttributes> {
  const [cpus, memory] = [await files.read("/proc/cpuinfo"), await files.read("/proc/meminfo")];
  const first = (name: string) => new RegExp(`^${name}\\s*: *(.*)$`, "m").exec(cpus)?.[1] ?? "unknown";
  const { stdout } = await processes.run({ argv: ["stat", "-f", "-c", "%S %b %a", folder] });
  const [block = 0, blocks = 0, free = 0] = stdout.trim().split(" ").map(Number);
  const diskGb = Math.floor((block * blocks) / GIB);
  return {
    vcpus: config.vcpus ?? cpus.match(/^processor\s*:/gm)?.length ?? 1,
    memoryMb: config.memoryMb ?? Math.floor(Number(/^MemTotal: +(\d+) kB/m.exec(memory)?.[1] ?? 0) / 1024),
    diskGb: config.diskGb ?? diskGb,
    diskFreeGb: Math.min(config.diskGb ?? diskGb, Math.floor((block * free) / GIB)),
    cpuModel: first("model name"),
    cpuVendor: first("vendor_id"),
    cpuFlags: first("flags").split(" "),
  };
}

/**
 * Parses `QEMU emulator version 7.2.22 (Debian …)` in libvirt's encoding: 7002022. Returns undefined if the text is not
 * QEMU's.
 */
export function versionNumber(text: string): number | undefined {
  const [, major, minor, micro] = /QEMU emulator version (\d+)\.(\d+)(?:\.(\d+))?/.exec(text) ?? [];
  return major === undefined ? undefined : Number(major) * 1_000_000 + Number(minor) * 1_000 + Number(micro ?? 0);
}

/** Reports the node's resources and their use by its guests, whatever their power state (spec 4.4 step 1). */
export function availableResource(
  hostname: string,
  attributes: HostAttributes,
  guests: readonly Definition[],
  { kvm, version, config }: { readonly kvm: boolean; readonly version: number; readonly config: QemuConfig },
): AvailableResource {
  const sum = (amount: (guest: Definition) => number) => guests.reduce((total, guest) => total + amount(guest), 0);
  return {
    vcpus: attributes.vcpus,
    memoryMb: attributes.memoryMb,
    localGb: attributes.diskGb,
    vcpusUsed: sum(({ vcpus }) => vcpus),
    memoryMbUsed: sum(({ memoryMb }) => memoryMb + config.memoryOverheadMb),
    localGbUsed: sum(({ diskGb }) => diskGb),
    cpuInfo: JSON.stringify({
      arch: "x86_64",
      model: attributes.cpuModel,
      vendor: attributes.cpuVendor,
      topology: { cells: 1, sockets: 1, cores: attributes.vcpus, threads: 1 },
      features: attributes.cpuFlags,
    }),
    numaTopology: null,
    hypervisorType: "QEMU",
    hypervisorVersion: version,
    hypervisorHostname: hostname,
    supportedInstances: (kvm ? ["kvm", "qemu"] : ["qemu"]).flatMap((type) => [
      ["x86_64", type, "hvm"] as const,
      ["i686", type, "hvm"] as const,
    ]),
    diskAvailableLeast: attributes.diskFreeGb,
  };
}

/** Milliseconds after which a test of KVM fails. */
const KVM_PROBE_TIMEOUT_MS = 10_000;

/** Starts and ends a machine under KVM, since a /dev/kvm may exist with which no guest starts. */
export async function kvmWorks(
  { kvm, binary, machine, cpu }: QemuConfig,
  { files, processes, timers }: Pick<DriverContext, "files" | "processes" | "timers">,
): Promise<boolean> {
  if (kvm === "never" || !(await files.stat("/dev/kvm"))) {
    return false;
  }
  const late = new AbortController();
  const cancel = timers.after(KVM_PROBE_TIMEOUT_MS, () => late.abort());
  try {
    const script = 'echo quit | exec "$@" -nodefaults -no-user-config -display none -m 16 -S -monitor stdio';
    const argv = ["sh", "-c", script, "sh", binary, "-machine", machine, "-accel", "kvm", "-cpu", cpu];
    return (await processes.run({ argv, signal: late.signal })).code === 0;
  } catch {
    return false;
  } finally {
    cancel();
  }
}
