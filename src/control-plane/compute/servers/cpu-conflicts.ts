import { cpuPolicy, dedicatedCpus, type Flavor, threadPolicy } from "../../../records/index.js";
import { badRequest } from "../api/fault.js";

type ImageProperties = Readonly<Record<string, string>>;

const CPU_POLICIES = ["dedicated", "shared", "mixed"];
const THREAD_POLICIES = ["prefer", "isolate", "require"];

/**
 * What Nova refuses of CPU policies before it makes a server (`numa_get_constraints` of its `virt/hardware.py`).
 * @throws {Fault} 400
 */
export function validateCpuPolicies({ extraSpecs, vcpus }: Flavor, image: ImageProperties): void {
  validatePolicyNames(extraSpecs, image);
  assertNoOverride(extraSpecs, image);
  const policy = cpuPolicy(extraSpecs, image);
  const threads = threadPolicy(extraSpecs, image);
  const amounts = { vcpus: amountOf(extraSpecs, "VCPU"), pcpus: amountOf(extraSpecs, "PCPU") };
  if (policy !== undefined && (amounts.vcpus > 0 || amounts.pcpus > 0)) {
    throw badRequest(
      "It is not possible to use the 'resources:VCPU' or 'resources:PCPU' extra specs in combination with the 'hw:cpu_policy' extra spec or 'hw_cpu_policy' image metadata property; use one or the other",
    );
  }
  if (amounts.vcpus > 0 && amounts.pcpus > 0) {
    throw badRequest(
      "It is not possible to specify both 'resources:VCPU' and 'resources:PCPU' extra specs; use one or the other",
    );
  }
  const isolated = extraSpecs["hw:emulator_threads_policy"] === "isolate";
  if (amounts.pcpus > 0) {
    assertPcpuMatch(vcpus, amounts.pcpus, isolated);
  }
  const trait = Object.keys(extraSpecs).some((key) => /^trait(?:[1-9][0-9]*)?:HW_CPU_HYPERTHREADING$/.test(key));
  if (threads !== undefined && trait) {
    throw badRequest(
      "It is not possible to use the 'trait:HW_CPU_HYPERTHREADING' extra spec in combination with the 'hw:cpu_thread_policy' extra spec or 'hw_cpu_thread_policy' image metadata property; use one or the other",
    );
  }
  const effective = amounts.pcpus > 0 ? "dedicated" : policy;
  if (effective === undefined || effective === "shared") {
    validateSharedPolicy(threads, isolated);
  }
  validateDedicatedMask(vcpus, effective, extraSpecs["hw:cpu_dedicated_mask"]);
}

function validatePolicyNames(extraSpecs: Flavor["extraSpecs"], image: ImageProperties): void {
  const check = (what: string, source: string, value: string | undefined, known: readonly string[]) => {
    if (value === undefined || known.includes(value)) {
      return;
    }
    const available = known.map((each) => `'${each}'`).join(", ");
    throw badRequest(
      `${what} policy requested from '${source}' is invalid, given: '${value}', available: '(${available})'.`,
    );
  };
  check("CPU", "flavor extra specs", extraSpecs["hw:cpu_policy"], CPU_POLICIES);
  check("CPU", "image properties", image.hw_cpu_policy, CPU_POLICIES);
  check("CPU thread", "flavor extra specs", extraSpecs["hw:cpu_thread_policy"], THREAD_POLICIES);
  check("CPU thread", "image properties", image.hw_cpu_thread_policy, THREAD_POLICIES);
}

function assertNoOverride(extraSpecs: Flavor["extraSpecs"], image: ImageProperties): void {
  const [flavors, images] = [extraSpecs["hw:cpu_policy"], image.hw_cpu_policy];
  const pins = images === "dedicated" || (flavors === "shared" && images === "mixed");
  if ((flavors === "shared" || flavors === "mixed") && pins) {
    throw badRequest(
      "Image property 'hw_cpu_policy' is not permitted to override CPU pinning policy set against the flavor",
    );
  }
  const threads = extraSpecs["hw:cpu_thread_policy"];
  const imageThreads = image.hw_cpu_thread_policy;
  if (threads !== undefined && threads !== "prefer" && imageThreads !== undefined && imageThreads !== threads) {
    throw badRequest(
      "Image property 'hw_cpu_thread_policy' is not permitted to override CPU thread pinning policy set against the flavor",
    );
  }
}

function assertPcpuMatch(vcpus: number, pcpus: number, isolated: boolean): void {
  if (isolated && pcpus !== vcpus + 1) {
    throw badRequest(
      "You have requested 'hw:emulator_threads_policy=isolate' but have not requested sufficient PCPUs to handle this policy; you must allocate exactly flavor.vcpus + 1 PCPUs.",
    );
  }
  if (!isolated && pcpus !== vcpus) {
    throw badRequest(
      "There is a mismatch between the number of PCPUs requested via 'resourcesNN:PCPU' and the flavor); you must allocate exactly flavor.vcpus PCPUs",
    );
  }
}

function validateSharedPolicy(threads: string | undefined, isolated: boolean): void {
  if (threads !== undefined) {
    throw badRequest("Cannot set cpu thread pinning policy in a non dedicated cpu pinning policy");
  }
  if (isolated) {
    throw badRequest("An isolated CPU emulator threads option requires a dedicated CPU policy option.");
  }
}

function validateDedicatedMask(vcpus: number, policy: string | undefined, mask: string | undefined): void {
  if (policy !== "mixed") {
    if (mask !== undefined) {
      throw badRequest("Cannot specify 'hw:cpu_dedicated_mask' without the 'mixed' policy.");
    }
    return;
  }
  if (mask === undefined) {
    throw badRequest(
      "Dedicated CPU set can be specified from either 'hw:cpu_dedicated_mask' or 'hw:cpu_realtime_mask' when using 'mixed' CPU policy. 'hw:cpu_dedicated_mask' and 'hw:cpu_realtime_mask' can not be specified at the same time, or be specified with none of them.",
    );
  }
  const pinned = dedicatedCpus(vcpus, mask).size;
  if (pinned === 0 || pinned === vcpus) {
    throw badRequest(
      "Mixed instance must have at least 1 pinned vCPU and 1 unpinned vCPU. See 'hw:cpu_dedicated_mask'.",
    );
  }
}

function amountOf(extraSpecs: Flavor["extraSpecs"], name: string): number {
  const key = new RegExp(`^resources(?:[1-9][0-9]*)?:${name}$`);
  return Object.entries(extraSpecs)
    .filter(([spec, value]) => key.test(spec) && /^\s*\d+\s*$/.test(value))
    .reduce((sum, [, value]) => sum + Number(value), 0);
}
