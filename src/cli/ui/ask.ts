import { createInterface } from "node:readline/promises";

/** Whether there is a person who can be asked. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stdout.isTTY === true;

/** A question that is answered by yes or no; anything but yes, and the end of the input, is no. @param signal answers no */
export async function ask(question: string, signal: AbortSignal): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  // Ctrl-C comes here, and not as a signal, while lines are read.
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
