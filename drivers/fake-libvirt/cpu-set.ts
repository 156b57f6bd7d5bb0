import { InvalidConfiguration } from "../../src/virt/index.js";

/** The CPUs of `4-7,^6,12`. @throws {InvalidConfiguration} naming `option`, also for CPUs that the host lacks. */
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
