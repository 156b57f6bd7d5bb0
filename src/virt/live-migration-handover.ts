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
 * Controls the end of one live migration. Admits only the driver's first callback, and none after the driver was abandoned,
 * so that the decision made then is final.
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
  /** Settles with the driver's method; never rejects. */
  #driverDone: Promise<void> = Promise.resolve();

  /** @param grace milliseconds that the driver has to return after its callback */
  constructor(driver: string, options: LiveMigrationOptions, grace: number, deps: HandoverDeps) {
    this.#driver = driver;
    this.#options = options;
    this.#grace = grace;
    this.#deps = deps;
  }

  /** Returns the options that are passed to the driver. */
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
   * Resolves when the driver calls back; the timeout no longer applies from then on.
   * @throws the driver's error before that; {@link VirtDriverMisbehaved} if it returned without a callback.
   */
  async called(work: Promise<unknown>): Promise<void> {
    const done = work.then(
      () => {
        if (this.#first) {
          return;
        }
        throw this.#misbehaved("it returned without calling either");
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

  /** Resolves when the callback and the driver have finished. @throws the error of the callback */
  async finished(): Promise<void> {
    try {
      await this.#first?.outcome;
    } finally {
      await this.#driverReturned();
    }
  }

  /** Rejects all further callbacks. */
  close(): void {
    this.#closed = true;
  }

  async #callBack(name: CallBack, call: () => Promise<void>): Promise<void> {
    if (this.#first) {
      throw this.#reject(`it called ${name} after ${this.#first.name}`);
    }
    if (this.#closed) {
      throw this.#reject(`it called ${name} after it was abandoned`);
    }
    // The driver may not await the callback. Without this handler, Node would report an unhandled rejection.
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
      this.#log(`driver ${this.#driver}: a progress report of a live migration is dropped`, error);
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
    this.#log(
      `driver ${this.#driver}: liveMigration failed after its ${this.#first?.name}, whose outcome is final`,
      error,
    );
  }

  async #driverReturned(): Promise<void> {
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#deps.timers.after(this.#grace, () => {
        this.#log(
          `driver ${this.#driver}: liveMigration has called back but did not return in time; not waiting for it`,
        );
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
