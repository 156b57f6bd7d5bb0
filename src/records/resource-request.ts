import { type Flavor, type FlavorSizes, localDiskGb, type Resources } from "./flavor.js";

/** The resource classes of os-resource-classes; the order is that of their ids. */
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

/** What the CPU policies of a flavor and an image ask for beyond the flavor's number of CPUs. */
export interface CpuRequest {
  /** PCPU, and VCPU where both kinds are mixed; empty: the flavor's CPUs are shared ones. */
  readonly resources: Resources;
  /** What becomes of the trait HW_CPU_HYPERTHREADING. */
  readonly hyperthreading: "required" | "forbidden" | null;
}

type ImageProperties = Readonly<Record<string, string>>;

/** The part of a flavor that says what a server takes. */
export type FlavorNeed = FlavorSizes & Pick<Flavor, "extraSpecs">;

/** What a server takes beside its flavor. */
export interface ServerNeed {
  /** Its root disk is a volume. Default false. */
  readonly volumeBacked?: boolean;
  /** The properties of its image. Default none. */
  readonly imageProperties?: Readonly<Record<string, string>>;
}

/** A request group of Placement's `GET /allocation_candidates`. */
interface RequestGroup {
  /** Empty: several providers of a tree may serve the group together; else a single provider serves it. */
  readonly suffix: string;
  readonly resources: Resources;
  readonly requiredTraits: ReadonlySet<string>;
  readonly forbiddenTraits: ReadonlySet<string>;
}

/** What a server asks of Placement, as Nova's `ResourceRequest` has it. */
export interface ResourceRequest {
  /** None is empty; the one without a suffix comes first. */
  readonly groups: readonly RequestGroup[];
  /** Null: the flavor says nothing, or something else than these. */
  readonly groupPolicy: "none" | "isolate" | null;
}

/** `resources:RC`, `resources1:RC`, `trait_NET:TRAIT`. */
const GROUPED = /^(resources|trait)([a-zA-Z0-9_-]{1,64})?:(.*)$/;

/** As Python reads a whole number. */
const AMOUNT = /^\s*\+?[0-9]+\s*$/;

const IMAGE_TRAIT = "trait:";

interface Draft {
  readonly resources: Map<string, number>;
  readonly requiredTraits: Set<string>;
  readonly forbiddenTraits: Set<string>;
}

/** The one place where a flavor, with its extra specs, and an image become resources and traits (spec 1.6). */
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
    // Images know no groups, and forbid nothing.
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

/** Amounts of the flavor's fields count unless an extra spec of any group names the class, zero amounts included. */
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

/** The amounts of all groups together, by class. */
function mergedResources({ groups }: ResourceRequest): Resources {
  const amounts: Record<string, number> = {};
  for (const { resources } of groups) {
    for (const [name, amount] of Object.entries(resources)) {
      amounts[name] = (amounts[name] ?? 0) + amount;
    }
  }
  return amounts;
}

/** What a server of this flavor holds in Placement, wherever in the tree: {@link resourceRequest} with all groups added up. */
export function flavorResources(flavor: FlavorNeed, need: ServerNeed = {}): Resources {
  return mergedResources(resourceRequest(flavor, need));
}

/** Nova warns of a class that cannot be and of an amount that is none, and goes on without them. */
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

/** `hw:cpu_policy` and its kin; conflicts and masks that cannot be are refused before a server is made. */
export function cpuRequest(flavor: Pick<Flavor, "vcpus" | "extraSpecs">, image: ImageProperties): CpuRequest {
  const { extraSpecs, vcpus } = flavor;
  const hyperthreading = { isolate: "forbidden", require: "required" } as const;
  const threads = threadPolicy(extraSpecs, image);
  return {
    resources: cpuResources(vcpus, extraSpecs, cpuPolicy(extraSpecs, image)),
    hyperthreading: threads === "isolate" || threads === "require" ? hyperthreading[threads] : null,
  };
}

/** The flavor's word comes before the image's. */
export function cpuPolicy(extraSpecs: Flavor["extraSpecs"], image: ImageProperties): string | undefined {
  return extraSpecs["hw:cpu_policy"] ?? image.hw_cpu_policy;
}

/** A flavor that only prefers leaves no word to the image either. */
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

/** The guest's CPUs that a mask names: `0-3,^2`, or `^0` for all but the first. Others than the guest's count for nothing. */
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
