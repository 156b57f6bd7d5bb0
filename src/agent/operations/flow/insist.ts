import { backOff } from "../../../runtime/retry.js";
import type { AgentContext } from "../../context.js";

/**
 * Tries of a write whose answer did not come (spec V30), and milliseconds between them: seven seconds in all, in which a
 * Placement that is started again is back.
 */
export const INSISTENCE = { attempts: 4, delay: backOff({ first: 1000, most: 4000 }) } as const;

/**
 * Asks Placement for what may be asked twice until it answers: an answer that was lost says nothing, and what was done is found
 * done (spec 9.4).
 * @param ask resolves to null when nobody answers
 * @returns null: nobody answered any of four tries
 */
export async function insist<T>(
  { runtime }: Pick<AgentContext, "runtime">,
  ask: () => Promise<T | null>,
): Promise<T | null> {
  for (let attempt = 1; attempt < INSISTENCE.attempts; attempt += 1) {
    const result = await ask();
    if (result !== null) {
      return result;
    }
    await runtime.timers.sleep(INSISTENCE.delay(attempt));
  }
  return await ask();
}
