import type { Flavor, Resources } from "./flavor.js";

/** What the CPU policies of a flavor and an image ask for beyond the flavor's number of CPUs. */
export interface CpuRequest {
  /** PCPU, and VCPU where both kinds are mixed; empty: the flavor's CPUs are shared ones. */
  readonly resources: Resources;
  /** What becomes of the trait HW_CPU_HYPERTHREADING. */
  readonly hyperthreading: "required" | "forbidden" | null;
}

type ImageProperties = Readonly<Record<string, string>>;

/** `hw:cpu_policy` and its kin; conflicts and masks that cannot be are refused before a server is made. */
export function cpuRequest(flavor: Pick<Flavor, "vcpus" | "extraSpecs">, image: ImageProperties): CpuRequest {
  const { extraSpecs, vcpus } = flavor;
  const hyperthreading = { isolate: "forbidden", require: "required" } as const;
  const threads = threadPolicy(extraSpecs, image);
  return {
    resources: cpus(vcpus, extraSpecs, cpuPolicy(extraSpecs, image)),
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

function cpus(vcpus: number, extraSpecs: Flavor["extraSpecs"], policy: string | undefined): Resources {
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
