import { flavorResources } from "../../records/resource-request.js";
import type { Amounts, Server } from "../read/records.js";

/** What a server needs (spec 1.6), and which classes its CPUs may have. */
export interface Need {
  readonly amounts: Amounts;
  /** CPUs may be VCPU or PCPU in any mixture (`hw:cpu_policy`): only their sum is known. */
  readonly mixedCpus: boolean;
  /** `hw:emulator_threads_policy = isolate` takes one more when the image, which is not read, asks for dedicated CPUs. */
  readonly extraCpus: 0 | 1;
}

export function needOf({ flavor, volumeBacked }: Pick<Server, "flavor" | "volumeBacked">): Need {
  const { extraSpecs } = flavor;
  const amounts = flavorResources(flavor, { volumeBacked });
  const isolated = extraSpecs["hw:emulator_threads_policy"] === "isolate";
  return {
    amounts,
    mixedCpus: extraSpecs["hw:cpu_policy"] === "mixed",
    extraCpus: isolated && amounts.PCPU === undefined ? 1 : 0,
  };
}

export interface Difference {
  /** `CPUs` where VCPU and PCPU count together. */
  readonly resourceClass: string;
  readonly held: number;
  readonly needed: number;
}

/** Classes that only a flavor asks for; others may come from ports and devices, and say nothing about the flavor. */
const FLAVORS_OWN = ["VCPU", "PCPU", "MEMORY_MB", "DISK_GB"];
const CPUS = new Set(["VCPU", "PCPU"]);

/** In what way the sums that are held differ from the need. */
export function differences(held: Amounts, need: Need): Difference[] {
  const names = new Set([...Object.keys(need.amounts), ...FLAVORS_OWN]);
  // An image may ask for dedicated CPUs, too: then there are PCPUs that the flavor does not speak of.
  const combined = need.mixedCpus || need.extraCpus > 0 || (held.PCPU ?? 0) > 0 !== (need.amounts.PCPU ?? 0) > 0;
  const found: Difference[] = [];
  for (const resourceClass of names) {
    if (combined && CPUS.has(resourceClass)) {
      continue;
    }
    const [is, needed] = [held[resourceClass] ?? 0, need.amounts[resourceClass] ?? 0];
    if (is !== needed) {
      found.push({ resourceClass, held: is, needed });
    }
  }
  const cpus = { held: cpusOf(held), needed: cpusOf(need.amounts) };
  if (combined && (cpus.held < cpus.needed || cpus.held > cpus.needed + need.extraCpus)) {
    found.push({ resourceClass: "CPUs", ...cpus });
  }
  return found;
}

const cpusOf = (amounts: Amounts): number => (amounts.VCPU ?? 0) + (amounts.PCPU ?? 0);
