/** A simulated process has used real I/O. */
export class RealIoError extends Error {
  override readonly name = "RealDoor";

  constructor(apiName: string) {
    super(`${apiName} was used by a simulated process: what it gives is not in the seed`);
  }
}

/**
 * Makes real time, random numbers and network throw an error with a stack trace, until the returned function is called.
 * For programs that only simulate, because other code cannot use them meanwhile.
 */
export function blockRealIo(onUse: (error: RealIoError) => void = () => undefined): () => void {
  const { Date: RealDate, setTimeout, setInterval, fetch } = globalThis;
  const { random } = Math;
  const now = () => RealDate.now();
  const { now: elapsed } = performance;
  const closed = (apiName: string) => (): never => {
    const error = new RealIoError(apiName);
    onUse(error);
    throw error;
  };
  /** p-queue and p-retry read the time for limits that are not set here. */
  const isForNothing = (): boolean => /\/node_modules\/(p-queue|p-retry)\//.test(new Error().stack ?? "");
  Math.random = closed("Math.random");
  performance.now = () => (isForNothing() ? elapsed.call(performance) : closed("performance.now")());
  globalThis.setTimeout = closed("setTimeout") as unknown as typeof setTimeout;
  globalThis.setInterval = closed("setInterval") as unknown as typeof setInterval;
  globalThis.fetch = closed("fetch") as typeof fetch;
  globalThis.Date = class extends RealDate {
    constructor(...args: ConstructorParameters<typeof RealDate> | []) {
      if (args.length === 0) {
        closed("new Date()")();
      }
      super(...(args as ConstructorParameters<typeof RealDate>));
    }

    static override now(): number {
      return isForNothing() ? now() : closed("Date.now")();
    }
  } as DateConstructor;
  return () => {
    Math.random = random;
    performance.now = elapsed;
    Object.assign(globalThis, { Date: RealDate, setTimeout, setInterval, fetch });
  };
}
