import {
  type AvailableResource,
  type Capabilities,
  type DriverContext,
  type GuestDiagnostics,
  GuestNotFound,
  type Instance,
} from "../../src/virt/index.js";
import type { FakeLibvirtConfig } from "./config.js";
import { type Domain, diskGbOf } from "./domain.js";
import type { Guests, HypervisorParts } from "./guests.js";
import type { CpuModel } from "./host-cpu.js";
import { domainName } from "./new-domain.js";

const DAY = 86_400;

/** Nanoseconds that a virtual CPU runs per second: emulated guests are nearly idle. */
const CPU_SHARE = 17_000_000;

/**
 * Bytes and requests that a guest has read and written by the end of its boot (BOOT), and per second afterwards (IDLE).
 */
const BOOT = { read: 38_400_000, readRequests: 1_320, write: 5_200_000, writeRequests: 410 };

const IDLE = { read: 12, readRequests: 0.002, write: 1_900, writeRequests: 0.21 };

interface DiskCounters {
  readonly readBytes: number;
  readonly readRequests: number;
  readonly writeBytes: number;
  readonly writeRequests: number;
}

/**
 * Reports of the hypervisor and its guests as libvirt's driver would give them. The figures are modelled, since no
 * guest computes anything.
 */
export class GuestReports {
  readonly #parts: HypervisorParts;
  readonly #guests: Guests;

  constructor(parts: HypervisorParts, guests: Guests) {
    this.#parts = parts;
    this.#guests = guests;
  }

  /** Counts from the hypervisor's first use. */
  async uptime(): Promise<string> {
    const { context, folder, store } = this.#parts;
    const now = context.clock.now();
    const since = (await context.files.stat(folder.identityFile))?.modified ?? now;
    const states = [...(await store.states()).values()];
    const load = states.filter((state) => state === "running").length * 0.02;
    return uptimeText(now, Math.max(0, Math.floor((now - since) / 1000)), load);
  }

  async console(instance: Instance): Promise<string> {
    await this.#guests.state(instance);
    return this.#parts.console.read(instance.uuid);
  }

  /** Memory in KiB, as with libvirt. */
  async diagnostics(instance: Instance): Promise<Readonly<Record<string, number>>> {
    const { domain, seconds } = await this.#running(instance);
    const memory = domain.memoryMb * 1024;
    return {
      ...Object.fromEntries(cpusOf(domain, seconds).map(({ id, time }) => [`cpu${id}_time`, time])),
      ...Object.fromEntries(
        [...domain.disks, ...domain.volumes].flatMap(({ target }, index) => {
          const { readBytes, readRequests, writeBytes, writeRequests } = countersOf(index, seconds);
          return [
            [`${target}_read_req`, readRequests],
            [`${target}_read`, readBytes],
            [`${target}_write_req`, writeRequests],
            [`${target}_write`, writeBytes],
            [`${target}_errors`, -1],
          ];
        }),
      ),
      memory,
      "memory-actual": memory,
      "memory-rss": Math.floor(memory * 0.3),
    };
  }

  async instanceDiagnostics(instance: Instance): Promise<GuestDiagnostics> {
    const { domain, seconds } = await this.#running(instance);
    const launched = instance.launchedAt ?? this.#parts.context.clock.now();
    return {
      driver: "libvirt",
      hypervisor: "qemu",
      hypervisorOs: "linux",
      uptime: Math.max(0, Math.floor((this.#parts.context.clock.now() - launched) / 1000)),
      configDrive: instance.configDrive,
      memoryDetails: { maximum: domain.memoryMb, used: Math.floor(domain.memoryMb * 0.3) },
      cpuDetails: cpusOf(domain, seconds).map((cpu) => ({ ...cpu, utilisation: null })),
      nicDetails: [],
      diskDetails: [...domain.disks, ...domain.volumes].map((_, index) => ({
        ...countersOf(index, seconds),
        errorsCount: -1,
      })),
    };
  }

  /** @throws {GuestNotFound} */
  async #running(instance: Instance): Promise<{ readonly domain: Domain; readonly seconds: number }> {
    const { store, folder, context } = this.#parts;
    const domain = await store.get(instance.uuid);
    if (domain === undefined) {
      throw new GuestNotFound(
        `guest ${domainName(instance)} (${instance.uuid}) is not on hypervisor ${folder.path}, or its XML is broken`,
      );
    }
    return { domain, seconds: await secondsSince(folder.stateFile(instance.uuid), context) };
  }
}

/** Returns the seconds since the guest's last state change. */
async function secondsSince(path: string, { files, clock }: Pick<DriverContext, "files" | "clock">): Promise<number> {
  const now = clock.now();
  const since = (await files.stat(path))?.modified ?? now;
  return Math.max(0, Math.floor((now - since) / 1000));
}

function cpusOf({ vcpus }: Domain, seconds: number): readonly { readonly id: number; readonly time: number }[] {
  // The first CPU boots the guest and handles its interrupts.
  return Array.from({ length: vcpus }, (_, id) => ({
    id,
    time: (id === 0 ? 4_100_000_000 : 600_000_000) + Math.floor((seconds * CPU_SHARE) / (id === 0 ? 1 : 3)),
  }));
}

/** Only the first disk is written to. */
function countersOf(index: number, seconds: number): DiskCounters {
  const share = index === 0 ? 1 : 0;
  return {
    readBytes: BOOT.read * share + 262_144 + Math.floor(IDLE.read * seconds) * share,
    readRequests: BOOT.readRequests * share + 64 + Math.floor(IDLE.readRequests * seconds) * share,
    writeBytes: (BOOT.write + Math.floor(IDLE.write * seconds)) * share,
    writeRequests: (BOOT.writeRequests + Math.floor(IDLE.writeRequests * seconds)) * share,
  };
}

/** Formats an uptime as procps prints it. @internal for tests */
export function uptimeText(now: number, seconds: number, load: number): string {
  const days = Math.floor(seconds / DAY);
  const hours = Math.floor((seconds % DAY) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const clock = hours > 0 ? `${String(hours).padStart(2)}:${String(minutes).padStart(2, "0")}` : `${minutes} min`;
  const up = `${days > 0 ? `${days} day${days === 1 ? "" : "s"}, ` : ""}${clock}`;
  const loads = [load, load * 0.9, load * 0.8].map((each) => each.toFixed(2)).join(", ");
  return ` ${new Date(now).toISOString().slice(11, 19)} up ${up},  0 users,  load average: ${loads}\n`;
}

/** Reports the node's resources and their use by its guests, whatever their power state (spec 4.4 step 1). */
export function availableResource(
  hostname: string,
  config: FakeLibvirtConfig,
  cpu: CpuModel,
  domains: readonly Domain[],
): AvailableResource {
  const sum = (amount: (domain: Domain) => number) => domains.reduce((total, domain) => total + amount(domain), 0);
  const localGbUsed = sum(diskGbOf);
  return {
    vcpus: config.vcpus,
    memoryMb: config.memoryMb,
    localGb: config.diskGb,
    vcpusUsed: sum(({ vcpus }) => vcpus),
    memoryMbUsed: sum(({ memoryMb }) => memoryMb),
    localGbUsed,
    cpuInfo: JSON.stringify({
      arch: cpu.arch,
      model: config.cpuModel,
      vendor: cpu.vendor,
      topology: { cells: 1, sockets: 1, cores: config.vcpus, threads: 1 },
      features: cpu.features,
    }),
    numaTopology: null,
    hypervisorType: config.hypervisorType,
    hypervisorVersion: config.hypervisorVersion,
    hypervisorHostname: hostname,
    // As libvirt with KVM reports them: QEMU emulates the same architectures.
    supportedInstances: [cpu.arch, "i686"].flatMap((arch) => [
      [arch, "kvm", "hvm"] as const,
      [arch, "qemu", "hvm"] as const,
    ]),
    diskAvailableLeast: config.diskGb - localGbUsed,
  };
}

export const CAPABILITIES: Capabilities = Object.freeze({
  supportsEvacuate: true,
  supportsFencing: true,
  supportsPcpus: true,
  supportsAttachInterface: true,
  supportsTaggedAttachInterface: true,
  supportsDeviceTagging: true,
  supportsTaggedAttachVolume: true,
  supportsExtendVolume: true,
  supportsMultiattach: true,
  supportsBfvRescue: true,
  supportsTrustedCerts: true,
  supportsAccelerators: true,
  supportsImageTypeRaw: true,
  supportsImageTypeQcow2: true,
});
