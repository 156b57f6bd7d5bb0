import type { Change } from "../../../control-plane/seed/change.js";
import { readFaults, setFaults } from "../../../faults/fault-file.js";
import { type FaultTable, formatFaultRule, parseFaultRule } from "../../../faults/fault-rules.js";
import { foldHosts } from "../../../records/host-range.js";
import { mapConcurrently } from "../../../runtime/queue.js";
import type { Runtime } from "../../../runtime/runtime.js";

/** Faults of one agent, or of the embedded Ironic. */
export interface DesiredFaults {
  /** A host, or `ironic`. */
  readonly host: string;
  /** Folder of the file that keeps them. */
  readonly folder: string;
  readonly table: FaultTable;
  readonly faultRules: readonly string[];
  /** There is no such folder yet. */
  readonly isNew: boolean;
}

type Deps = Pick<Runtime, "files" | "clock" | "random">;

/** Files that are read or written at a time. */
const AT_A_TIME = 32;

/**
 * Faults that are not set yet, by host. One that has acted as often as it was to is set still; those of other points stay.
 * @throws {InvalidFault} what is set cannot be read.
 */
export async function missingFaults(
  desired: readonly DesiredFaults[],
  { files }: Pick<Deps, "files">,
): Promise<readonly DesiredFaults[]> {
  const some = desired.filter(({ faultRules }) => faultRules.length > 0);
  const left = await mapConcurrently(some, AT_A_TIME, async (one) => {
    if (one.isNew) {
      return one;
    }
    const set = new Set((await readFaults(one.folder, one.table, { files })).map(formatFaultRule));
    return {
      ...one,
      faultRules: one.faultRules.filter((faultRule) => !set.has(formatFaultRule(parseFaultRule(faultRule, one.table)))),
    };
  });
  return left.filter(({ faultRules }) => faultRules.length > 0);
}

export function faultChanges(missing: readonly DesiredFaults[]): readonly Change[] {
  const hosts = new Map<string, string[]>();
  for (const { host, faultRules } of missing) {
    const key = faultRules.join(" ");
    const named = hosts.get(key) ?? [];
    named.push(host);
    hosts.set(key, named);
  }
  return [...hosts].map(([faultRules, named]) => ({
    sign: "+",
    text: `fault ${foldHosts(named)}: ${faultRules}`,
    destroys: false,
  }));
}

export async function setMissing(missing: readonly DesiredFaults[], deps: Deps): Promise<void> {
  await mapConcurrently(missing, AT_A_TIME, async ({ folder, table, faultRules }) => {
    await setFaults(
      folder,
      faultRules.map((faultRule) => parseFaultRule(faultRule, table)),
      deps,
    );
  });
}
