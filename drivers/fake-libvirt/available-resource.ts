import type { AvailableResource } from "../../src/virt/index.js";
import type { FakeLibvirtConfig } from "./config.js";
import type { CpuModel } from "./cpu-models.js";
import { type Domain, diskGbOf } from "./domain.js";

/** What the node has and what its guests take, whatever their power state (spec 4.4 step 1). */
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
