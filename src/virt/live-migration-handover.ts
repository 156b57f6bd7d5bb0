import type { Logger } from "../runtime/runtime.js";
import type { Timers } from "../runtime/time.js";
import { describe } from "./driver-error.js";
import { VirtDriverMisbehaved } from "./errors.js";
import type { LiveMigrationOptions, LiveMigrationProgress } from "./move-methods.js";

type CallBack = "postMethod" | "recoverMethod";

const RULE = "call exactly one of postMethod and recoverMethod, exactly once";

export interface HandoverDeps {
  readonly timers: Timers;
  readonly logger: Logger;
}

/**
 * The end of one live migration: lets through the driver's first call-back and no other, and none once the driver was
 * given up, so that what was decided then stays decided.
 */
export class LiveMigrationHandover {
  readonly #driver: string;
  readonly #deps: HandoverDeps;
  readonly #grace: number;
  readonly #options: LiveMigrationOptions;
  #first: { readonly name: CallBack; readonly outcome: Promise<void> } | undefined;
  #closed = false;
  #resolveCalled: () => void = () => {};
  readonly #called = new Promise<void>((resolve) => {
    this.#resolveCalled = resolve;
  });
  /** The driver's method; never rejects. */
  #driverDone: Promise<void> = Promise.resolve();

  /** @param grace milliseconds that the driver has to return after its call-back. */
  constructor(driver: string, options: LiveMigrationOptions, grace: number, deps: HandoverDeps) {
    this.#driver = driver;
    this.#options = options;
    this.#grace = grace;
    this.#deps = deps;
  }

  /** What the driver is given. */
  optionsFor(signal: AbortSignal): LiveMigrationOptions {
    return {
      ...this.#options,
      signal,
      onProgress: (progress) => this.#reportProgress(progress),
      postMethod: () => this.#callBack("postMethod", () => this.#options.postMethod()),
      recoverMethod: (outcome) => this.#callBack("recoverMethod", () => this.#options.recoverMethod(outcome)),
    };
  }

  /**
   * Resolves as soon as the driver has called back: from then on the time is the core's own.
   * @throws what the driver throws before that. {@link VirtDriverMisbehaved} it returned and had called neither.
   */
  async called(work: Promise<unknown>): Promise<void> {
    const done = work.then(
      () => {
        if (this.#first) {
          return;
        }
        throw this.#misbehaved("it returned and had called neither");
      },
      async (error: unknown) => {
        if (!this.#first) {
          throw error;
        }
        await this.#reportFailure(error);
      },
    );
    this.#driverDone = done.catch(() => {});
    await Promise.race([this.#called, done]);
  }

  /** Resolves when the call-back and the driver are through. @throws what the call-back throws. */
  async finished(): Promise<void> {
    try {
      await this.#first?.outcome;
    } finally {
      await this.#driverReturned();
    }
  }

  /** No call-back is let through any more. */
  close(): void {
    this.#closed = true;
  }

  async #callBack(name: CallBack, call: () => Promise<void>): Promise<void> {
    if (this.#first) {
      throw this.#reject(`it called ${name} after ${this.#first.name}`);
    }
    if (this.#closed) {
      throw this.#reject(`it called ${name} after it had been given up`);
    }
    // The driver alone may be waiting when it rejects: without this, Node would report an unhandled rejection.
    const outcome = Promise.resolve().then(call);
    outcome.catch(() => {});
    this.#first = { name, outcome };
    this.#resolveCalled();
    await outcome;
  }

  #reportProgress(progress: LiveMigrationProgress): void {
    if (this.#closed || this.#first) {
      return;
    }
    try {
      const wrong = Object.values(progress).find((bytes) => !Number.isFinite(bytes) || bytes < 0);
      if (wrong !== undefined) {
        throw new Error(`expected amounts of bytes, found ${describe(wrong)}`);
      }
      this.#options.onProgress(progress);
    } catch (error) {
      this.#log(`driver ${this.#driver}: news of a live migration's progress is dropped`, error);
    }
  }

  async #reportFailure(error: unknown): Promise<void> {
    const own = await this.#first?.outcome.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error === own || error instanceof VirtDriverMisbehaved) {
      return;
    }
    this.#log(`driver ${this.#driver}: liveMigration failed after its ${this.#first?.name}, which stands`, error);
  }

  async #driverReturned(): Promise<void> {
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#deps.timers.after(this.#grace, () => {
        this.#log(`driver ${this.#driver}: liveMigration has called back but does not return; it is left behind`);
        resolve();
      });
    });
    await Promise.race([this.#driverDone, late]);
    cancel();
  }

  #reject(found: string): VirtDriverMisbehaved {
    const error = this.#misbehaved(found);
    this.#log(error.message, error);
    return error;
  }

  #misbehaved(found: string): VirtDriverMisbehaved {
    return new VirtDriverMisbehaved(this.#driver, "liveMigration", RULE, found);
  }

  #log(message: string, error?: unknown): void {
    this.#deps.logger.error(message, {
      driver: this.#driver,
      method: "liveMigration",
      ...(error === undefined ? {} : { err: error }),
    });
  }
}
