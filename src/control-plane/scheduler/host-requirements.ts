import { type Flavor, hostRequirementsOf, type VersionCondition, versionConditions } from "../../records/index.js";
import { isObject } from "../../runtime/collections.js";
import { pythonStr } from "../python/repr.js";
import type { HostState } from "./host-state.js";

type ImageProperties = Readonly<Record<string, string>>;

/** Returns true if the host meets the image's requirements (Nova's `ImagePropertiesFilter`). */
export function supportsImage(
  { node }: { readonly node: Pick<HostState["node"], "hypervisorVersion" | "supportedHvSpecs"> },
  image: ImageProperties,
): boolean {
  const { architecture, hypervisorType, vmMode, hypervisorVersion } = hostRequirementsOf(image);
  const required = [architecture, hypervisorType, vmMode].filter((value) => value !== undefined);
  if (required.length === 0) {
    return true;
  }
  const version = versionOf(node.hypervisorVersion);
  const conditions = hypervisorVersion === undefined ? [] : (versionConditions(hypervisorVersion) ?? []);
  return node.supportedHvSpecs.some(
    (supported) =>
      required.every((value) => supported.includes(value)) &&
      (node.hypervisorVersion === 0 || conditions.every((condition) => isSatisfied(condition, version))),
  );
}

/** Decodes libvirt's version number: `8002000` is 8.2.0. */
function versionOf(coded: number): readonly number[] {
  return [Math.trunc(coded / 1_000_000), Math.trunc(coded / 1_000) % 1_000, coded % 1_000];
}

function isSatisfied({ comparison, version }: VersionCondition, found: readonly number[]): boolean {
  const difference = version.map((part, index) => (found[index] ?? 0) - part).find((part) => part !== 0) ?? 0;
  return COMPARISONS[comparison](difference);
}

const COMPARISONS: Readonly<Record<VersionCondition["comparison"], (difference: number) => boolean>> = {
  "<": (difference) => difference < 0,
  "<=": (difference) => difference <= 0,
  ">": (difference) => difference > 0,
  ">=": (difference) => difference >= 0,
  "==": (difference) => difference === 0,
  "!=": (difference) => difference !== 0,
};

/**
 * Returns true if the host meets the flavor's extra specs (Nova's `ComputeCapabilitiesFilter`). These are the specs of
 * namespace `capabilities`, and those without a namespace that name a host attribute.
 */
export function hasCapabilities(host: HostState, extraSpecs: Flavor["extraSpecs"]): boolean {
  return Object.entries(extraSpecs).every(([key, required]) => {
    const path = key.split(":");
    if (path.length > 1) {
      return path[0] !== "capabilities" || isMet(host, path.slice(1), required);
    }
    return attributeOf(host, key) === undefined || isMet(host, path, required);
  });
}

function isMet(host: HostState, path: readonly string[], required: string): boolean {
  const value = capabilityOf(host, path);
  return value !== undefined && value !== null && matches(pythonStr(value), required);
}

/** Returns an attribute of the host, or a member of its JSON value; undefined if it does not exist. */
function capabilityOf(host: HostState, [name = "", ...below]: readonly string[]): unknown {
  let value = attributeOf(host, name);
  for (const key of below) {
    const object = typeof value === "string" ? fromJson(value) : value;
    value = isObject(object) && Object.hasOwn(object, key) ? object[key] : undefined;
  }
  return value;
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Host attributes by their names in Nova's `HostState`. */
const ATTRIBUTES: Readonly<Record<string, (node: HostState["node"]) => unknown>> = {
  host: ({ host }) => host,
  nodename: ({ hypervisorHostname }) => hypervisorHostname,
  uuid: ({ uuid }) => uuid,
  hypervisor_hostname: ({ hypervisorHostname }) => hypervisorHostname,
  hypervisor_type: ({ hypervisorType }) => hypervisorType,
  hypervisor_version: ({ hypervisorVersion }) => hypervisorVersion,
  host_ip: ({ hostIp }) => hostIp,
  cpu_info: ({ cpuInfo }) => (cpuInfo === "" ? undefined : cpuInfo),
  supported_instances: ({ supportedHvSpecs }) => supportedHvSpecs,
  total_usable_ram_mb: ({ memoryMb }) => memoryMb,
  total_usable_disk_gb: ({ localGb }) => localGb,
  free_ram_mb: ({ freeRamMb }) => freeRamMb,
  free_disk_mb: (node) => freeDiskGb(node) * 1024,
  disk_mb_used: ({ localGbUsed }) => localGbUsed * 1024,
  vcpus_total: ({ vcpus }) => vcpus,
  vcpus_used: ({ vcpusUsed }) => vcpusUsed,
  num_instances: ({ stats }) => Number(stats.num_instances ?? 0),
  num_io_ops: ioOperations,
  failed_builds: failedBuilds,
  ram_allocation_ratio: ({ ramAllocationRatio }) => floatText(ramAllocationRatio),
  cpu_allocation_ratio: ({ cpuAllocationRatio }) => floatText(cpuAllocationRatio),
  disk_allocation_ratio: ({ diskAllocationRatio }) => floatText(diskAllocationRatio),
  stats: ({ stats }) => stats,
};

/** Returns free disk in GiB, the lower of the node's record and the hypervisor's report; may be negative. */
export function freeDiskGb({ freeDiskGb: free, diskAvailableLeast: least }: HostState["node"]): number {
  return least === null ? free : Math.min(least, free);
}

/** Returns the number of disk-intensive operations on the host's guests, as its agent reported it. */
export function ioOperations({ stats }: HostState["node"]): number {
  return Number(stats.io_workload ?? 0);
}

export function failedBuilds({ stats }: HostState["node"]): number {
  return Number(stats.failed_builds ?? 0);
}

/** Returns an attribute or a statistic, since drivers may report further capabilities as statistics. */
function attributeOf({ node }: HostState, name: string): unknown {
  const attribute = Object.hasOwn(ATTRIBUTES, name) ? ATTRIBUTES[name]?.(node) : undefined;
  return attribute ?? (Object.hasOwn(node.stats, name) ? node.stats[name] : undefined);
}

/** Formats a number as Python formats a float: 4 as `4.0`. */
const floatText = (value: number): string => (Number.isInteger(value) ? `${value}.0` : String(value));

type Operator = (value: string, operands: readonly string[]) => boolean;

/** Creates a numeric operator; it rejects values that are not numbers. */
function ofNumbers(holds: (value: number, required: number) => boolean): Operator {
  return (value, [required = ""]) => {
    const numbers = { value: toFloat(value), required: toFloat(required) };
    return numbers.value !== undefined && numbers.required !== undefined && holds(numbers.value, numbers.required);
  };
}

/** Creates a string operator, which compares by character codes. */
function ofStrings(holds: (value: string, required: string) => boolean): Operator {
  return (value, [required = ""]) => holds(value, required);
}

const OPERATORS: Readonly<Record<string, Operator>> = {
  "=": ofNumbers((value, required) => value >= required),
  "==": ofNumbers((value, required) => value === required),
  "!=": ofNumbers((value, required) => value !== required),
  ">=": ofNumbers((value, required) => value >= required),
  "<=": ofNumbers((value, required) => value <= required),
  "s==": ofStrings((value, required) => value === required),
  "s!=": ofStrings((value, required) => value !== required),
  "s<": ofStrings((value, required) => value < required),
  "s<=": ofStrings((value, required) => value <= required),
  "s>": ofStrings((value, required) => value > required),
  "s>=": ofStrings((value, required) => value >= required),
  "<in>": ofStrings((value, required) => value.includes(required)),
  "<all-in>": (value, operands) => operands.every((operand) => value.includes(operand)),
  // `<or> v1 <or> v2`: every second operand is an operator again.
  "<or>": (value, operands) => operands.some((operand, index) => index % 2 === 0 && operand === value),
};

/** Returns true if the value meets the requirement, which is a literal or an operator with operands. */
function matches(value: string, required: string): boolean {
  const [word = "", ...operands] = required.trim().split(/\s+/);
  const operator = Object.hasOwn(OPERATORS, word) ? OPERATORS[word] : undefined;
  if (operator === undefined) {
    return value === required;
  }
  return operands.length > 0 && operator(value, operands);
}

function toFloat(text: string): number | undefined {
  const trimmed = text.trim();
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(trimmed) ? Number(trimmed) : undefined;
}
