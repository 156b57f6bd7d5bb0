import { createInterface } from "node:readline/promises";

/** Returns whether stdin and stdout are terminals, so that the user can reply to a question. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stdout.isTTY === true;

/** Asks a yes-or-no question. Other input, and the end of input, count as no. @param signal aborted: no */
export async function ask(question: string, signal: AbortSignal): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  // While readline is active, Ctrl-C arrives here and not as a signal.
  lines.on("SIGINT", () => lines.close());
  try {
    const reply = await Promise.race([lines.question(`${question} [y/N] `, { signal }), ended]);
    return /^y(es)?$/i.test(reply.trim());
  } catch (error) {
    if (signal.aborted) {
      return false;
    }
    throw error;
  } finally {
    lines.close();
  }
}
