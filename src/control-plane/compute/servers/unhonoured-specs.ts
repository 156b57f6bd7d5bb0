import { type Flavor, invalidImageProperty } from "../../../records/index.js";
import { badRequest } from "../api/fault.js";
import { boolFromText } from "../api/schema-parts.js";
import { validateCpuPolicies } from "./cpu-conflicts.js";

/** Extra specs that Nova obeys and nothing here does, by what they are for. Images say the same with `_` for the colon. */
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

/** Specs of a boolean, or of a word for no. */
const OFF = /^hw[:_](?:locked_memory|cpu_realtime|mem_encryption|ephemeral_encryption|virtio_packed_ring)$/;
const DISABLED = /^os[:_]secure_boot$/;

/**
 * Refuses what a server would have to have and would not get: Nova would give it, or find no host. Specs of namespaces that
 * Nova does not know are the operator's own and mean nothing. Rejects image properties with values that Nova does not know, too.
 * @throws {Fault} 400, which names the spec
 */
export function validateRequestedSpecs(flavor: Flavor, imageProperties: Readonly<Record<string, string>>): void {
  validateImageProperties(imageProperties);
  assertSpecsSupported("Flavor extra spec", flavor.extraSpecs);
  assertSpecsSupported("Image property", imageProperties);
  validateCpuPolicies(flavor, imageProperties);
}

/** With Nova's texts. @throws {Fault} 400 */
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
