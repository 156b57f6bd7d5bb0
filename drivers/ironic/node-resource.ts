import type { AvailableResource, Logger } from "../../src/virt/index.js";
import type { IronicNode } from "./client/ironic-node.js";

/** Nova's names of architectures (its canonical ones). */
const ARCHITECTURES: ReadonlySet<string> = new Set(
  (
    "aarch64 alpha armv6 armv7l armv7b cris i686 ia64 lm32 loongarch64 m68k microblaze microblazeel mips mipsel " +
    "mips64 mips64el openrisc parisc parisc64 ppc ppcle ppc64 ppc64le ppcemb riscv32 riscv64 s390 s390x sh4 sh4eb " +
    "sparc sparc64 unicore32 x86_64 xtensa xtensaeb"
  ).split(" "),
);

/** Null: Nova would not know it either. */
function architectureOf(raw: string | null): string | null {
  const name = raw?.toLowerCase() ?? "";
  if (/^i[3-6]86$/.test(name)) {
    return "i686";
  }
  if (name === "amd64") {
    return "x86_64";
  }
  return ARCHITECTURES.has(name) ? name : null;
}

/** `cpu_arch` and the parts of `capabilities`: what filters compare extra specs with. */
function statsOf(node: IronicNode, logger: Logger): Readonly<Record<string, string>> {
  const { cpuArch, capabilities } = node.properties;
  const stats: Record<string, string> = cpuArch === null ? {} : { cpu_arch: cpuArch };
  for (const part of (capabilities ?? "").split(",").filter((text) => text.trim() !== "")) {
    const [, key, value] = /^([^:]+):([^:]+)$/.exec(part.trim()) ?? [];
    if (key === undefined || value === undefined) {
      logger.warn("Ignoring malformed capability; expected key:value", { node: node.uuid, capability: part });
      continue;
    }
    stats[key] = value;
  }
  return stats;
}

/** Sizes are zero: a node is scheduled by its resource class alone. */
export function resourceOf(node: IronicNode, logger: Logger): AvailableResource {
  const arch = architectureOf(node.properties.cpuArch);
  if (arch === null && node.properties.cpuArch !== null) {
    logger.warn("cpu_arch of the node is not known", { node: node.uuid, cpu_arch: node.properties.cpuArch });
  }
  return {
    uuid: node.uuid,
    hypervisorHostname: node.uuid,
    hypervisorType: "ironic",
    hypervisorVersion: 1,
    vcpus: 0,
    memoryMb: 0,
    localGb: 0,
    vcpusUsed: 0,
    memoryMbUsed: 0,
    localGbUsed: 0,
    diskAvailableLeast: 0,
    cpuInfo: null,
    numaTopology: null,
    supportedInstances: arch === null ? [] : [[arch, "baremetal", "hvm"]],
    stats: statsOf(node, logger),
  };
}
