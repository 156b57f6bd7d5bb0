import type { Change } from "../../../control-plane/seed/change.js";
import { readFaults, setFaults } from "../../../faults/fault-file.js";
import { type FaultTable, formatKnob, parseKnob } from "../../../faults/fault-rules.js";
import { foldHosts } from "../../../records/host-range.js";
import { mapConcurrently } from "../../../runtime/queue.js";
import type { Runtime } from "../../../runtime/runtime.js";

/** Faults of one agent, or of the embedded Ironic. */
export interface WantedFaults {
  /** A host, or `ironic`. */
  readonly host: string;
  /** Folder of the file that keeps them. */
  readonly folder: string;
  readonly table: FaultTable;
  readonly knobs: readonly string[];
  /** There is no such folder yet. */
  readonly isNew: boolean;
}

type Doors = Pick<Runtime, "files" | "clock" | "random">;

/** Files that are read or written at a time. */
const AT_A_TIME = 32;

/**
 * Faults that are not set yet, by host. One that has acted as often as it was to is set still; those of other points stay.
 * @throws {InvalidFault} what is set cannot be read.
 */
export async function missingFaults(
  wanted: readonly WantedFaults[],
  { files }: Pick<Doors, "files">,
): Promise<readonly WantedFaults[]> {
  const some = wanted.filter(({ knobs }) => knobs.length > 0);
  const left = await mapConcurrently(some, AT_A_TIME, async (one) => {
    if (one.isNew) {
      return one;
    }
    const set = new Set((await readFaults(one.folder, one.table, { files })).map(formatKnob));
    return { ...one, knobs: one.knobs.filter((knob) => !set.has(formatKnob(parseKnob(knob, one.table)))) };
  });
  return left.filter(({ knobs }) => knobs.length > 0);
}

export function faultChanges(missing: readonly WantedFaults[]): readonly Change[] {
  const hosts = new Map<string, string[]>();
  for (const { host, knobs } of missing) {
    const key = knobs.join(" ");
    const named = hosts.get(key) ?? [];
    named.push(host);
    hosts.set(key, named);
  }
  return [...hosts].map(([knobs, named]) => ({
    sign: "+",
    text: `fault ${foldHosts(named)}: ${knobs}`,
    destroys: false,
  }));
}

export async function setMissing(missing: readonly WantedFaults[], doors: Doors): Promise<void> {
  await mapConcurrently(missing, AT_A_TIME, async ({ folder, table, knobs }) => {
    await setFaults(
      folder,
      knobs.map((knob) => parseKnob(knob, table)),
      doors,
    );
  });
}
