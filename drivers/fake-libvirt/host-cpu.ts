import { InvalidConfiguration } from "../../src/virt/index.js";

/** A CPU model as libvirt describes it in its capabilities. */
export interface CpuModel {
  readonly arch: string;
  readonly vendor: string;
  /** libvirt's names. */
  readonly features: readonly string[];
}

const BASE = ["mmx", "sse", "sse2"];

const NEHALEM = [...BASE, "pni", "ssse3", "sse4.1", "sse4.2", "vmx"];

const HASWELL = [...NEHALEM, "aes", "pclmuldq", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm"];

const CASCADELAKE = [...HASWELL, "adx", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni"];

const EPYC = [...BASE, "pni", "ssse3", "sse4.1", "sse4.2", "sse4a", "svm", "aes", "pclmuldq", "avx", "avx2"];

const model = (vendor: string, features: readonly string[]): CpuModel => ({ arch: "x86_64", vendor, features });

export const CPU_MODELS: Readonly<Record<string, CpuModel>> = {
  generic: model("unknown", []),
  qemu64: model("AMD", [...BASE, "pni", "svm"]),
  Nehalem: model("Intel", NEHALEM),
  "Haswell-noTSX": model("Intel", HASWELL),
  "Cascadelake-Server": model("Intel", CASCADELAKE),
  "EPYC-Rome": model("AMD", [...EPYC, "bmi1", "bmi2", "f16c", "fma", "abm", "adx", "sha-ni"]),
};

export const CPU_MODEL_NAMES = Object.keys(CPU_MODELS);

/** Nova's mapping of libvirt features to traits, for the features above. */
const FEATURE_TRAITS: Readonly<Record<string, string>> = {
  mmx: "HW_CPU_X86_MMX",
  sse: "HW_CPU_X86_SSE",
  sse2: "HW_CPU_X86_SSE2",
  pni: "HW_CPU_X86_SSE3",
  ssse3: "HW_CPU_X86_SSSE3",
  "sse4.1": "HW_CPU_X86_SSE41",
  "sse4.2": "HW_CPU_X86_SSE42",
  sse4a: "HW_CPU_X86_SSE4A",
  vmx: "HW_CPU_X86_VMX",
  svm: "HW_CPU_X86_SVM",
  aes: "HW_CPU_X86_AESNI",
  pclmuldq: "HW_CPU_X86_CLMUL",
  avx: "HW_CPU_X86_AVX",
  avx2: "HW_CPU_X86_AVX2",
  avx512f: "HW_CPU_X86_AVX512F",
  avx512bw: "HW_CPU_X86_AVX512BW",
  avx512cd: "HW_CPU_X86_AVX512CD",
  avx512dq: "HW_CPU_X86_AVX512DQ",
  avx512vl: "HW_CPU_X86_AVX512VL",
  avx512vnni: "HW_CPU_X86_AVX512VNNI",
  bmi1: "HW_CPU_X86_BMI",
  bmi2: "HW_CPU_X86_BMI2",
  f16c: "HW_CPU_X86_F16C",
  fma: "HW_CPU_X86_FMA3",
  abm: "HW_CPU_X86_ABM",
  adx: "HW_CPU_X86_ASF",
  "sha-ni": "HW_CPU_X86_SHA",
};

/** CPU traits that this driver owns on the node. It adds and removes no others. */
export const OWNED_CPU_TRAITS: readonly string[] = Object.values(FEATURE_TRAITS);

export function cpuTraits(cpu: CpuModel): readonly string[] {
  return cpu.features.flatMap((feature) => FEATURE_TRAITS[feature] ?? []);
}

/**
 * Parses a CPU list such as `4-7,^6,12`. @throws {InvalidConfiguration} names `option`; also for CPUs that the host
 * lacks.
 */
export function parseCpuSet(text: string, option: string, hostCpus: number): ReadonlySet<number> {
  const included = new Set<number>();
  const excluded = new Set<number>();
  for (const part of text.split(",").map((item) => item.trim())) {
    const [, not, first, last = first] = /^(\^?)(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    const [low, high] = [Number(first), Number(last)];
    if (first === undefined || low > high || high >= hostCpus) {
      throw new InvalidConfiguration(
        `${option}: found ${part || "nothing"} in ${text}; expected CPUs of 0 to ${hostCpus - 1} as 4-7,^6,12`,
      );
    }
    for (let cpu = low; cpu <= high; cpu += 1) {
      (not === "^" ? excluded : included).add(cpu);
    }
  }
  return new Set([...included].filter((cpu) => !excluded.has(cpu)));
}
