import type { Random } from "../runtime/random.js";
import type { Timers } from "../runtime/timers.js";

/** What an attempt answers when a conflict is worth another one. */
export const AGAIN = Symbol("again");

/** Writes of allocations end after this many tries (spec 5.5, V30). */
const MAX_TRIES = 4;

/** Tries up to four times, before try k (from 0) waiting uniform(0, 2k) seconds; undefined when all tries were in vain. */
export async function retryConflicts<T>(
  { timers, random }: { readonly timers: Pick<Timers, "sleep">; readonly random: Random },
  attempt: (tried: number) => Promise<T | typeof AGAIN>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  for (let tried = 0; tried < MAX_TRIES; tried += 1) {
    if (tried > 0) {
      await timers.sleep(random.next() * 2000 * tried, signal);
    }
    const result = await attempt(tried);
    if (result !== AGAIN) {
      return result;
    }
  }
  return undefined;
}
