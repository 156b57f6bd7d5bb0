import { STANDARD_RESOURCE_CLASSES } from "../../../records/resource-request.js";
import { badRequest, type HttpError } from "../../http/http-error.js";
import { STANDARD_TRAITS } from "../../placement/standard-traits.js";

/** Allowed values of a known extra spec (Nova's `nova/api/validation/extra_specs`). */
type ValueRule =
  | { readonly kind: "any" }
  | { readonly kind: "boolean" }
  | { readonly kind: "integer"; readonly min?: number; readonly max?: number }
  | { readonly kind: "one-of"; readonly values: readonly string[] }
  /**
   * `text` is Nova's pattern, for the message. Some of these backtrack exponentially, so `matches` is an equivalent
   * one.
   */
  | { readonly kind: "pattern"; readonly text: string; readonly matches: RegExp };

const ANY: ValueRule = { kind: "any" };

const BOOLEAN: ValueRule = { kind: "boolean" };

const INTEGER: ValueRule = { kind: "integer" };

const NATURAL: ValueRule = { kind: "integer", min: 0 };

const POSITIVE: ValueRule = { kind: "integer", min: 1 };

const oneOf = (...values: readonly string[]): ValueRule => ({ kind: "one-of", values });

const CPU_MASK: ValueRule = {
  kind: "pattern",
  text: String.raw`\^?\d+((-\d+)?(,\^?\d+(-\d+)?)?)*`,
  matches: /^\^?\d+(?:-\d+|,\^?\d+)*$/,
};

/** Specs with a fixed name. */
const NAMED: Readonly<Record<string, ValueRule>> = {
  "accel:device_profile": ANY,
  "hw_rng:allowed": BOOLEAN,
  "hw_rng:rate_bytes": NATURAL,
  "hw_rng:rate_period": NATURAL,
  "hw_video:ram_max_mb": NATURAL,
  hide_hypervisor_id: BOOLEAN,
  group_policy: oneOf("isolate", "none"),
  "os:secure_boot": oneOf("disabled", "required"),
  "pci_passthrough:alias": {
    kind: "pattern",
    text: String.raw`[^:]+:\d+(?:\s*,\s*[^:]+:\d+)*`,
    matches: /^[^:]+:\d+(?:\s*,[^:]+:\d+)*$/,
  },
  "quota:cpu_shares": NATURAL,
  "quota:cpu_period": NATURAL,
  "quota:cpu_quota": INTEGER,
  "vmware:hw_version": ANY,
  "vmware:storage_policy": ANY,
  "hw:cpu_realtime": BOOLEAN,
  "hw:cpu_realtime_mask": { ...CPU_MASK, text: String.raw`(\^)?\d+((-\d+)?(,\^?\d+(-\d+)?)?)*` },
  "hw:hide_hypervisor_id": BOOLEAN,
  "hw:cpu_policy": oneOf("dedicated", "shared", "mixed"),
  "hw:cpu_thread_policy": oneOf("prefer", "isolate", "require"),
  "hw:emulator_threads_policy": oneOf("isolate", "share"),
  "hw:cpu_dedicated_mask": CPU_MASK,
  "hw:mem_page_size": {
    kind: "pattern",
    text: String.raw`(large|small|any|\d+([kKMGT]i?)?(b|bit|B)?)`,
    matches: /^(?:large|small|any|\d+(?:[kKMGT]i?)?(?:b|bit|B)?)$/,
  },
  "hw:locked_memory": BOOLEAN,
  "hw:numa_nodes": POSITIVE,
  "hw:pci_numa_affinity_policy": oneOf("required", "preferred", "legacy", "socket"),
  "hw:cpu_sockets": POSITIVE,
  "hw:cpu_cores": POSITIVE,
  "hw:cpu_threads": POSITIVE,
  "hw:cpu_max_sockets": POSITIVE,
  "hw:cpu_max_cores": POSITIVE,
  "hw:cpu_max_threads": POSITIVE,
  "hw:boot_menu": BOOLEAN,
  "hw:vif_multiqueue_enabled": BOOLEAN,
  "hw:mem_encryption": BOOLEAN,
  "hw:mem_encryption_model": oneOf("amd-sev", "amd-sev-es", "amd-sev-snp"),
  "hw:pmem": { kind: "pattern", text: "([a-zA-Z0-9_]+(,)?)+", matches: /^\w+(?:,\w+)*,?$/ },
  "hw:pmu": BOOLEAN,
  "hw:serial_port_count": NATURAL,
  "hw:tpm_model": oneOf("tpm-tis", "tpm-crb"),
  "hw:tpm_version": oneOf("1.2", "2.0"),
  "hw:tpm_secret_security": oneOf("user", "host", "deployment"),
  "hw:watchdog_action": oneOf("none", "pause", "poweroff", "reset", "disabled"),
  "hw:viommu_model": oneOf("intel", "smmuv3", "virtio", "auto"),
  "hw:virtio_packed_ring": BOOLEAN,
  "hw:sound_model": oneOf("sb16", "es1370", "pcspk", "ac97", "ich6", "ich9", "usb", "virtio"),
  "hw:usb_model": oneOf("none", "nec-xhci", "qemu-xhci"),
  "hw:redirected_usb_ports": { kind: "integer", min: 0, max: 15 },
  "hw:ephemeral_encryption": BOOLEAN,
  "hw:ephemeral_encryption_format": oneOf("plain", "luks", "luksv2"),
};

const CAPABILITIES =
  "id uuid service_id host vcpus memory_mb local_gb vcpus_used memory_mb_used local_gb_used hypervisor_type " +
  "hypervisor_version hypervisor_hostname free_ram_mb free_disk_gb current_workload running_vms disk_available_least " +
  "host_ip mapped cpu_allocation_ratio ram_allocation_ratio disk_allocation_ratio total_usable_ram_mb " +
  "total_usable_disk_gb disk_mb_used free_disk_mb vcpus_total num_instances num_io_ops failed_builds aggregates " +
  "cell_uuid updated";

const CAPABILITIES_WITH_PATHS =
  "cpu_info metrics stats numa_topology supported_hv_specs pci_device_pools nodename pci_stats supported_instances " +
  "limits instances";

const GROUP = "(?:[a-zA-Z0-9_-]{1,64})?";

/** Specs with a variable part in their name. */
const PATTERNED: readonly (readonly [RegExp, ValueRule])[] = [
  [/^aggregate_instance_extra_specs:.+$/, ANY],
  [new RegExp(`^capabilities:${either(CAPABILITIES)}$`), ANY],
  [new RegExp(String.raw`^capabilities:${either(CAPABILITIES_WITH_PATHS)}(?::\w+)*$`), ANY],
  [/^quota:(?:cpu|memory|disk_io|vif)_(?:limit|shares_share)$/, NATURAL],
  [/^quota:(?:cpu|memory|disk_io|vif)_reservation$/, INTEGER],
  [/^quota:(?:cpu|memory|disk_io|vif)_shares_level$/, oneOf("custom", "high", "normal", "low")],
  [/^quota:disk_(?:read|write|total)_(?:bytes|iops)_sec$/, NATURAL],
  [/^quota:vif_(?:inbound|outbound)_(?:average|peak|burst)$/, NATURAL],
  [new RegExp(`^resources${GROUP}:(?:${either(STANDARD_RESOURCE_CLASSES)}|CUSTOM_[A-Z0-9_]+)$`), INTEGER],
  [new RegExp(`^trait${GROUP}:(?:${either(STANDARD_TRAITS)}|CUSTOM_[A-Z0-9_]+)$`), oneOf("required", "forbidden")],
  [/^hw:numa_cpus\.\d+$/, CPU_MASK],
  [/^hw:numa_mem\.\d+$/, POSITIVE],
];

/** Namespaces (the part before the colon) in which Nova rejects unknown specs. */
const NAMESPACES = new RegExp(
  `^(?:accel|aggregate_instance_extra_specs|capabilities|hw|hw_rng|hw_video|os|pci_passthrough|quota|vmware|(?:resources|trait)${GROUP})$`,
);

const INTEGER_PATTERN = /^\s*[+-]?[0-9]+(?:_[0-9]+)*\s*$/;

const BOOLEANS = /^\s*(?:1|t|true|on|y|yes|0|f|false|off|n|no)\s*$/i;

/**
 * Validates specs as Nova does from microversion 2.86 on. Known specs must have a valid value; names in other
 * namespaces, and those without one, are free for operators.
 * @throws {HttpError} 400
 */
export function validateExtraSpecs(specs: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(specs)) {
    const rule = ruleOf(name);
    if (rule !== undefined) {
      validateValue(rule, value);
    } else if (isInKnownNamespace(name)) {
      throw failed(`extra spec '${name}' does not appear to be a valid extra spec.`);
    }
  }
}

function validateValue(rule: ValueRule, value: string): void {
  switch (rule.kind) {
    case "any":
      return;
    case "boolean":
      if (!BOOLEANS.test(value)) {
        throw failed(`'${value}' is not a valid boolean-like value.`);
      }
      return;
    case "one-of":
      if (!rule.values.includes(value)) {
        throw failed(`'${value}' is not one of: ${rule.values.join(", ")}.`);
      }
      return;
    case "pattern":
      if (!rule.matches.test(value)) {
        throw failed(`'${value}' is not of the format '${rule.text}'.`);
      }
      return;
    case "integer":
      validateInteger(rule, value);
  }
}

function validateInteger({ min, max }: { readonly min?: number; readonly max?: number }, value: string): void {
  if (!INTEGER_PATTERN.test(value)) {
    throw failed(`'${value}' is not a valid integer value.`);
  }
  const amount = Number(value.replaceAll("_", ""));
  if (max !== undefined && amount > max) {
    throw failed(`'${amount}' is greater than the max value of '${max}'.`);
  }
  if (min !== undefined && amount < min) {
    throw failed(`'${amount}' is less than the min value of '${min}'.`);
  }
}

function failed(what: string): HttpError {
  return badRequest(`Validation failed; ${what}`);
}

function either(names: string | readonly string[]): string {
  return `(?:${(typeof names === "string" ? names.split(" ") : names).join("|")})`;
}

/** Returns undefined if Nova does not know the spec. */
function ruleOf(name: string): ValueRule | undefined {
  if (Object.hasOwn(NAMED, name)) {
    return NAMED[name];
  }
  return PATTERNED.find(([pattern]) => pattern.test(name))?.[1];
}

/** Returns whether Nova knows all specs of the name's namespace, so that an unknown name is an error. */
function isInKnownNamespace(name: string): boolean {
  const colon = name.indexOf(":");
  return colon >= 0 && NAMESPACES.test(name.slice(0, colon));
}
