import { cpuPolicy, dedicatedCpus, type Flavor, invalidImageProperty, threadPolicy } from "../../../records/index.js";
import { badRequest, forbidden } from "../../http/http-error.js";
import type { ServerImage } from "../../image/server-images.js";
import type { Call } from "../api/call.js";
import { boolFromText } from "../api/schema-parts.js";

type ImageProperties = Readonly<Record<string, string>>;

const CPU_POLICIES = ["dedicated", "shared", "mixed"];

const THREAD_POLICIES = ["prefer", "isolate", "require"];

const GIB = 1024 ** 3;

/** Returns an image from which a server is rebuilt or rescued. @throws {HttpError} 400 */
export function requireImage({ deps: { images }, credentials }: Call, id: string, unknown: string): ServerImage {
  const image = images.find(id, credentials);
  if (image === undefined) {
    throw badRequest(unknown);
  }
  if (image.status !== "active") {
    throw badRequest(`Image ${id} is not active.`);
  }
  return image;
}

/** Checks that the flavor meets the image's requirements. @throws {HttpError} 400 */
export function assertFlavorFits(
  { memoryMb, rootGb }: Pick<Flavor, "memoryMb" | "rootGb">,
  image: { readonly minRam: number; readonly minDisk: number; readonly size: number | null },
): void {
  if (memoryMb < image.minRam) {
    throw badRequest("Flavor's memory is too small for requested image.");
  }
  // A flavor without a root disk gets a disk of the image's size.
  const disk = rootGb * GIB;
  if (disk === 0) {
    return;
  }
  if ((image.size ?? 0) > disk) {
    const sizes = `Flavor disk is ${disk} bytes, image is ${image.size} bytes.`;
    throw badRequest(`Flavor's disk is too small for requested image. ${sizes}`);
  }
  if (image.minDisk * GIB > disk) {
    const sizes = `Flavor disk is ${disk} bytes, minimum size is ${image.minDisk * GIB} bytes.`;
    throw badRequest(`Flavor's disk is smaller than the minimum size specified in image metadata. ${sizes}`);
  }
}

/**
 * Only administrators create servers without a root disk of known size on a host: an image could take any amount.
 * @throws {HttpError} 403
 */
export function assertZeroDiskAllowed(call: Call, { rootGb }: Pick<Flavor, "rootGb">): void {
  if (rootGb === 0 && !call.isAdmin) {
    throw forbidden("Only volume-backed servers are allowed for flavors with zero disk.");
  }
}

/**
 * Extra specs that Nova supports and this cluster does not, by feature. Image properties have `_` instead of the colon.
 */
const UNHONOURED: readonly (readonly [what: string, spec: RegExp])[] = [
  ["NUMA topologies", /^hw[:_](?:numa_nodes|numa_cpus\.\d+|numa_mem\.\d+|pci_numa_affinity_policy)$/],
  ["memory pages of a size", /^hw[:_](?:mem_page_size|locked_memory)$/],
  ["PCI devices by alias", /^pci_passthrough:alias$/],
  ["real-time CPUs", /^hw[:_]cpu_realtime(?:_mask)?$/],
  ["encrypted memory", /^hw[:_]mem_encryption(?:_model)?$/],
  ["persistent memory", /^hw:pmem$/],
  ["encrypted local disks", /^hw[:_]ephemeral_encryption(?:_format)?$/],
  ["emulated TPMs", /^hw[:_]tpm_(?:version|model|secret_security)$/],
  ["address widths", /^hw[:_]maxphysaddr_(?:mode|bits)$/],
  ["packed virtqueues", /^hw[:_]virtio_packed_ring$/],
  ["virtual IOMMUs", /^hw[:_]viommu_model$/],
  ["secure boot", /^os[:_]secure_boot$/],
  ["accelerators", /^accel:device_profile$/],
];

/** Specs whose value can be false or can switch the feature off. */
const OFF = /^hw[:_](?:locked_memory|cpu_realtime|mem_encryption|ephemeral_encryption|virtio_packed_ring)$/;

const DISABLED = /^os[:_]secure_boot$/;

/**
 * Rejects specs that Nova would honour, or for which it would find no host, and this cluster does not support. Specs in
 * unknown namespaces are the operator's and are ignored. Image properties with values that Nova does not know are
 * rejected as well.
 * @throws {HttpError} 400, which names the spec
 */
export function validateRequestedSpecs(flavor: Flavor, imageProperties: Readonly<Record<string, string>>): void {
  validateImageProperties(imageProperties);
  assertSpecsSupported("Flavor extra spec", flavor.extraSpecs);
  assertSpecsSupported("Image property", imageProperties);
  validateCpuPolicies(flavor, imageProperties);
}

/** Validates image properties; the messages are Nova's. @throws {HttpError} 400 */
function validateImageProperties(imageProperties: Readonly<Record<string, string>>): void {
  const { img_config_drive: configDrive = "optional" } = imageProperties;
  if (configDrive !== "optional" && configDrive !== "mandatory") {
    throw badRequest(`Image's config drive option '${configDrive}' is invalid`);
  }
  const error = invalidImageProperty(imageProperties);
  if (error !== null) {
    throw badRequest(`Invalid image metadata. Error: ${error}`);
  }
}

function assertSpecsSupported(where: string, specs: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(specs)) {
    const found = UNHONOURED.find(([, spec]) => spec.test(name));
    if (found === undefined || isOff(name, value)) {
      continue;
    }
    throw badRequest(`${where} '${name}' asks for ${found[0]}, which this cloud does not have: leave it out.`);
  }
}

function isOff(name: string, value: string): boolean {
  return (OFF.test(name) && !boolFromText(value)) || (DISABLED.test(name) && value !== "required");
}

/**
 * Validates CPU policies as Nova does before it creates a server (`numa_get_constraints` of its `virt/hardware.py`).
 * @throws {HttpError} 400
 */
function validateCpuPolicies({ extraSpecs, vcpus }: Flavor, image: ImageProperties): void {
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
