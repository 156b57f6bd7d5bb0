import { type GuestReport, readReports, writeTalkingImage } from "../../../../drivers/qemu/check.js";
import { nodeClock, nodeTimers } from "../../../../src/runtime/node/node-builtins.js";
import { NodeFiles } from "../../../../src/runtime/node/node-files.js";
import { NodePrograms } from "../../../../src/runtime/node/node-processes.js";

const deps = { files: new NodeFiles(), processes: new NodePrograms(), timers: nodeTimers(), clock: nodeClock() };

type Count = GuestReport["counted"];

/** Writes a raw image of a guest that counts. */
export function writeCountingImage(path: string): Promise<void> {
  return writeTalkingImage(path, deps);
}

/** Returns the guest's counts, one per report on its serial port. */
export async function countsIn(console: string): Promise<readonly Count[]> {
  return (await readReports(console, deps)).map(({ counted }) => counted);
}

/** Resolves with the last count after `more` further reports. Has no timeout of its own. */
export async function countsOn(console: string, more = 3): Promise<Count> {
  const before = (await countsIn(console)).length;
  for (;;) {
    const counts = await countsIn(console);
    const last = counts.at(-1);
    if (last && counts.length >= before + more) {
      return last;
    }
    await deps.timers.sleep(20);
  }
}
