import { afterAll, beforeAll } from "vitest";
import type { Program } from "../../process/support/program.js";
import type { RealNova } from "./real-nova.js";

export const OC_HOSTS = ["oc1", "oc2", "oc3"] as const;
export type OcHost = (typeof OC_HOSTS)[number];
/** The scheduler prefers the host with the most memory, so it chooses them in this order. */
const MEMORY: Readonly<Record<OcHost, number>> = { oc1: 36_864, oc2: 34_816, oc3: 32_768 };

/** Common options of all hosts. */
export function ocOptions(host: OcHost): readonly string[] {
  return [
    `fake_libvirt.memory_mb=${MEMORY[host]}`,
    "shelved_offload_time=-1",
    "running_deleted_instance_poll_interval=10",
    "periodic_fuzzy_delay=0",
    // As Nova's own fake drivers report: servers migrate live only between equal hypervisors.
    "fake_libvirt.hypervisor_type=fake",
    "fake_libvirt.hypervisor_version=1000",
  ];
}

/** Runs the three hosts around the cases of a `describe`. */
export function withOcHosts(
  cloud: () => RealNova,
  more: readonly string[] = [],
): { readonly agents: Map<string, Program> } {
  const agents = new Map<string, Program>();
  beforeAll(async () => {
    const nova = cloud();
    const start = async (host: OcHost) => {
      agents.set(host, await nova.startAgent(host, { options: [...ocOptions(host), ...more] }));
    };
    const known = await Promise.all(OC_HOSTS.map(async (host) => (await nova.operator.service(host)).id !== undefined));
    await Promise.all(OC_HOSTS.map(start));
    if (known.every((each) => each)) {
      await Promise.all(OC_HOSTS.map((host) => nova.unretire(host)));
    } else {
      await nova.discover();
    }
  });
  afterAll(async () => {
    await Promise.all([...agents.values()].map((agent) => agent.stop()));
    await Promise.all(OC_HOSTS.map((host) => cloud().retire(host)));
  });
  return { agents };
}

/**
 * Runs `act` while there is a host with this fault that the scheduler prefers to all others, including Nova's own
 * fakes.
 */
export async function withPreferredHost(nova: RealNova, fault: string, act: () => Promise<void>): Promise<void> {
  const options = ["vcpus=4000", "memory_mb=4000000", "disk_gb=4000000"].map((text) => `fake_libvirt.${text}`);
  const agent = await nova.startAgent("big1", { options });
  try {
    await nova.discover();
    await nova.setFault("big1", fault);
    await act();
  } finally {
    await agent.stop();
    await nova.operator.deleteService("big1");
  }
}
