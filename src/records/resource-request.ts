import { type Flavor, type FlavorSizes, localDiskGb, type Resources } from "./flavor.js";

/** The resource classes of os-resource-classes, in the order of their ids. */
export const STANDARD_RESOURCE_CLASSES: readonly string[] = [
  "VCPU",
  "MEMORY_MB",
  "DISK_GB",
  "PCI_DEVICE",
  "SRIOV_NET_VF",
  "NUMA_SOCKET",
  "NUMA_CORE",
  "NUMA_THREAD",
  "NUMA_MEMORY_MB",
  "IPV4_ADDRESS",
  "VGPU",
  "VGPU_DISPLAY_HEAD",
  "NET_BW_EGR_KILOBIT_PER_SEC",
  "NET_BW_IGR_KILOBIT_PER_SEC",
  "PCPU",
  "MEM_ENCRYPTION_CONTEXT",
  "FPGA",
  "PGPU",
  "NET_PACKET_RATE_KILOPACKET_PER_SEC",
  "NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC",
  "NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC",
];

/** The classes that ports with QoS policies request; no flavor determines them. */
const PORT_RESOURCE = /^NET_(BW|PACKET_RATE)_/;

/** Returns resources without those of ports, to compare them with a flavor's. */
export function withoutPortResources(resources: Resources): Resources {
  return Object.fromEntries(Object.entries(resources).filter(([name]) => !PORT_RESOURCE.test(name)));
}

/** The effect of the CPU policies of a flavor and an image. */
export interface CpuRequest {
  /** PCPU, and VCPU for mixed policies; empty if all CPUs are shared. */
  readonly resources: Resources;
  /** Whether the trait HW_CPU_HYPERTHREADING is required or forbidden. */
  readonly hyperthreading: "required" | "forbidden" | null;
}

type ImageProperties = Readonly<Record<string, string>>;

/** The fields of a flavor that determine resources. */
export type FlavorNeed = FlavorSizes & Pick<Flavor, "extraSpecs">;

/** The requirements of a server beyond its flavor. */
export interface ServerNeed {
  /** Whether its root disk is a volume. Default false. */
  readonly volumeBacked?: boolean;
  /** The properties of its image. Default none. */
  readonly imageProperties?: Readonly<Record<string, string>>;
}

/** A request group of Placement's `GET /allocation_candidates`. */
interface RequestGroup {
  /** Empty: several providers of a tree may satisfy the group jointly. Otherwise a single provider must satisfy it. */
  readonly suffix: string;
  readonly resources: Resources;
  readonly requiredTraits: ReadonlySet<string>;
  readonly forbiddenTraits: ReadonlySet<string>;
}

/** A server's request to Placement, as Nova's `ResourceRequest`. */
export interface ResourceRequest {
  /** No group is empty. The group without a suffix comes first. */
  readonly groups: readonly RequestGroup[];
  /** Null if the flavor has none or another value. */
  readonly groupPolicy: "none" | "isolate" | null;
}

/** Matches `resources:RC`, `resources1:RC`, `trait_NET:TRAIT`. */
const GROUPED = /^(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)$/;

/** An integer as Python parses it. */
const AMOUNT = /^\s*\+?[0-9]+\s*$/;

const IMAGE_TRAIT = "trait:";

interface Draft {
  readonly resources: Map<string, number>;
  readonly requiredTraits: Set<string>;
  readonly forbiddenTraits: Set<string>;
}

/**
 * Converts a flavor with its extra specs and an image to resources and traits (spec 1.6). All callers use this
 * function.
 */
export function resourceRequest(flavor: FlavorNeed, need: ServerNeed = {}): ResourceRequest {
  const drafts = new Map<string, Draft>();
  draftOf(drafts, "");
  for (const [key, value] of Object.entries(flavor.extraSpecs)) {
    const [, kind, suffix = "", name = ""] = GROUPED.exec(key) ?? [];
    if (kind === "resources") {
      addResource(drafts, suffix, name, value);
    } else if (kind === "trait") {
      addTrait(drafts, suffix, name, value);
    }
  }
  const imageProperties = need.imageProperties ?? {};
  for (const [name, value] of Object.entries(imageProperties)) {
    // Images have no groups and cannot forbid traits.
    if (name.startsWith(IMAGE_TRAIT) && value === "required") {
      addTrait(drafts, "", name.slice(IMAGE_TRAIT.length), value);
    }
  }
  const cpus = cpuRequest(flavor, imageProperties);
  for (const [name, amount] of Object.entries(cpus.resources)) {
    draftOf(drafts, "").resources.set(name, amount);
  }
  if (cpus.hyperthreading !== null) {
    addTrait(drafts, "", "HW_CPU_HYPERTHREADING", cpus.hyperthreading);
  }
  addFlavorsOwn(drafts, flavor, need.volumeBacked ?? false);
  const policy = flavor.extraSpecs.group_policy;
  return {
    groups: [...drafts].map(([suffix, draft]) => finish(suffix, draft)).filter(hasRequirements),
    groupPolicy: policy === "none" || policy === "isolate" ? policy : null,
  };
}

/**
 * Adds the amounts of the flavor's fields, unless an extra spec of any group names the class. An amount of zero counts
 * as naming.
 */
function addFlavorsOwn(drafts: Map<string, Draft>, flavor: FlavorNeed, volumeBacked: boolean): void {
  const named = new Set([...drafts.values()].flatMap(({ resources }) => [...resources.keys()]));
  const { resources } = draftOf(drafts, "");
  if (!named.has("VCPU") && !named.has("PCPU")) {
    resources.set("VCPU", flavor.vcpus);
  }
  if (!named.has("MEMORY_MB")) {
    resources.set("MEMORY_MB", flavor.memoryMb);
  }
  if (!named.has("DISK_GB")) {
    resources.set("DISK_GB", localDiskGb(flavor, volumeBacked));
  }
}

/** Sums the amounts of all groups by class. */
function mergedResources({ groups }: ResourceRequest): Resources {
  const amounts: Record<string, number> = {};
  for (const { resources } of groups) {
    for (const [name, amount] of Object.entries(resources)) {
      amounts[name] = (amounts[name] ?? 0) + amount;
    }
  }
  return amounts;
}

/**
 * Returns the resources that a server of this flavor allocates in Placement: {@link resourceRequest} with all groups
 * summed.
 */
export function flavorResources(flavor: FlavorNeed, need: ServerNeed = {}): Resources {
  return mergedResources(resourceRequest(flavor, need));
}

/** Nova logs a warning for an unknown class or an invalid amount, and ignores both. */
function addResource(drafts: Map<string, Draft>, suffix: string, name: string, value: string): void {
  if (!name.startsWith("CUSTOM_") && !STANDARD_RESOURCE_CLASSES.includes(name)) {
    return;
  }
  if (AMOUNT.test(value)) {
    draftOf(drafts, suffix).resources.set(name, Number(value));
  }
}

function addTrait(drafts: Map<string, Draft>, suffix: string, name: string, value: string): void {
  if (value === "required") {
    draftOf(drafts, suffix).requiredTraits.add(name);
  } else if (value === "forbidden") {
    draftOf(drafts, suffix).forbiddenTraits.add(name);
  }
}

function draftOf(drafts: Map<string, Draft>, suffix: string): Draft {
  const known = drafts.get(suffix);
  if (known !== undefined) {
    return known;
  }
  const made: Draft = { resources: new Map(), requiredTraits: new Set(), forbiddenTraits: new Set() };
  drafts.set(suffix, made);
  return made;
}

function finish(suffix: string, { resources, requiredTraits, forbiddenTraits }: Draft): RequestGroup {
  const requested = [...resources].filter(([, amount]) => amount > 0);
  return { suffix, resources: Object.fromEntries(requested), requiredTraits, forbiddenTraits };
}

function hasRequirements({ resources, requiredTraits, forbiddenTraits }: RequestGroup): boolean {
  return Object.keys(resources).length > 0 || requiredTraits.size > 0 || forbiddenTraits.size > 0;
}

/**
 * Evaluates `hw:cpu_policy` and related extra specs. Conflicts and invalid masks are rejected before a server is
 * created.
 */
export function cpuRequest(flavor: Pick<Flavor, "vcpus" | "extraSpecs">, image: ImageProperties): CpuRequest {
  const { extraSpecs, vcpus } = flavor;
  const hyperthreading = { isolate: "forbidden", require: "required" } as const;
  const threads = threadPolicy(extraSpecs, image);
  return {
    resources: cpuResources(vcpus, extraSpecs, cpuPolicy(extraSpecs, image)),
    hyperthreading: threads === "isolate" || threads === "require" ? hyperthreading[threads] : null,
  };
}

/** The flavor takes precedence over the image. */
export function cpuPolicy(extraSpecs: Flavor["extraSpecs"], image: ImageProperties): string | undefined {
  return extraSpecs["hw:cpu_policy"] ?? image.hw_cpu_policy;
}

/** The flavor takes precedence over the image, even with `prefer`. */
export function threadPolicy(extraSpecs: Flavor["extraSpecs"], image: ImageProperties): string | undefined {
  return extraSpecs["hw:cpu_thread_policy"] ?? image.hw_cpu_thread_policy;
}

function cpuResources(vcpus: number, extraSpecs: Flavor["extraSpecs"], policy: string | undefined): Resources {
  if (policy !== "dedicated" && policy !== "mixed") {
    return {};
  }
  const pinned = policy === "dedicated" ? vcpus : dedicatedCpus(vcpus, extraSpecs["hw:cpu_dedicated_mask"] ?? "").size;
  const emulator = extraSpecs["hw:emulator_threads_policy"] === "isolate" ? 1 : 0;
  return { ...(policy === "mixed" ? { VCPU: vcpus - pinned } : {}), PCPU: pinned + emulator };
}

/**
 * Returns the guest CPUs in a mask: `0-3,^2`, or `^0` for all but the first. Numbers of CPUs that the guest does not
 * have are ignored.
 */
export function dedicatedCpus(vcpus: number, mask: string): ReadonlySet<number> {
  const all = Array.from({ length: vcpus }, (_, cpu) => cpu);
  const parts = mask
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
  const within = (part: string) => {
    const [first, last = first] = part.replace(/^\^/, "").split("-").map(Number);
    return (cpu: number) => cpu >= (first ?? 0) && cpu <= (last ?? 0);
  };
  const named = parts.filter((part) => !part.startsWith("^")).map(within);
  const left = parts.filter((part) => part.startsWith("^")).map(within);
  const start = parts[0]?.startsWith("^") ? all : all.filter((cpu) => named.some((holds) => holds(cpu)));
  return new Set(start.filter((cpu) => !left.some((holds) => holds(cpu))));
}
