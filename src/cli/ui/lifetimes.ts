import { isGoOn, isRest } from "../../control-plane/local/reports.js";
import { notifyParent, onParentMessage } from "./parent.js";
import { waitForShutdown } from "./until-stopped.js";

interface WorkLoop<T, R> {
  /** What other arguments ask for. */
  readonly parse: (args: readonly string[]) => Promise<T>;
  /** Does it to its end. Once `rest` is aborted it ends as by `kill -9`, and leaves nothing that goes on; else it throws. */
  readonly live: (work: T, rest: AbortSignal) => Promise<R>;
}

/**
 * Does a program's work, and then, in the same process, what `compute-cluster up` gives it after it has had it rest.
 * @returns what the last of them came to; undefined: it was told to end while it rested
 */
export async function runWorkLoop<T, R>(first: T, { parse, live }: WorkLoop<T, R>): Promise<R | undefined> {
  for (let work: T = first; ; ) {
    const rest = new AbortController();
    const forget = onParentMessage((message) => {
      if (isRest(message)) {
        rest.abort();
      }
    });
    try {
      const result = await live(work, rest.signal);
      if (!rest.signal.aborted) {
        return result;
      }
    } finally {
      forget?.();
    }
    const args = await untilGoOn();
    if (args === undefined) {
      return undefined;
    }
    work = await parse(args);
  }
}

async function untilGoOn(): Promise<readonly string[] | undefined> {
  const goOn = new AbortController();
  let args: readonly string[] | undefined;
  const forget = onParentMessage((message) => {
    if (isGoOn(message)) {
      args = message.args;
      goOn.abort();
    }
  });
  notifyParent({ type: "resting" });
  await waitForShutdown(goOn.signal);
  forget?.();
  return args;
}
