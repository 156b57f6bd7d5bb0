import type { LiveMigrationProgress, Timers } from "../../src/virt/index.js";

/** The API reports a migration's progress in bytes. */
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
/** Milliseconds between two polls, as in Nova's monitor of libvirt jobs. */
const TICK = 500;
/** Factor by which the remaining copy is faster once the guest is paused and no longer writes. */
const FORCED_SPEED = 10;

export interface CopyOptions {
  readonly memoryMb: number;
  /** 0 if the storage is shared. */
  readonly diskGb: number;
  /** Duration of the complete copy. */
  readonly milliseconds: number;
  readonly signal: AbortSignal | undefined;
  readonly timers: Timers;
  readonly onProgress: (progress: LiveMigrationProgress) => void;
  /** Returns whether the guest still runs on the source. */
  readonly isHere: () => Promise<boolean>;
}

/** Outcome of a copy. `forced`: the remainder must be copied while the guest is paused. */
export type CopyOutcome = "copied" | "forced" | "cancelled" | "failed";

/** Copies one guest's memory and disks. Takes time, reports its progress, and can be cancelled or forced. */
export class LiveMigrationJob {
  readonly #options: CopyOptions;
  #wake = new AbortController();
  #cancelled = false;
  #forced = false;
  #stoppable = true;
  #elapsed = 0;

  constructor(options: CopyOptions) {
    this.#options = options;
  }

  /** Returns false if it is too late because the guest is being handed over. */
  cancel(): boolean {
    if (!this.#stoppable) {
      return false;
    }
    this.#cancelled = true;
    this.#wake.abort();
    return true;
  }

  /** Copies the remainder at once. */
  force(): void {
    this.#forced = true;
    this.#wake.abort();
  }

  /** Copies until the copy is done, cancelled or forced. Never rejects because of a signal. */
  async copy(): Promise<CopyOutcome> {
    const outcome = await this.#copyUntil(() => this.#forced, 1);
    return outcome === "copied" && this.#forced && this.#elapsed < this.#options.milliseconds ? "forced" : outcome;
  }

  /** Copies the remainder at the forced speed. */
  async copyRest(): Promise<CopyOutcome> {
    return this.#copyUntil(() => false, FORCED_SPEED);
  }

  /** Makes later calls of {@link cancel} fail. */
  commit(): void {
    this.#stoppable = false;
  }

  async #copyUntil(enough: () => boolean, speed: number): Promise<CopyOutcome> {
    const { milliseconds, signal, isHere } = this.#options;
    const wake = () => this.#wake.abort();
    signal?.addEventListener("abort", wake, { once: true });
    try {
      for (;;) {
        if (this.#cancelled && this.#stoppable) {
          return "cancelled";
        }
        if (signal?.aborted && this.#stoppable) {
          return "failed";
        }
        if (this.#stoppable && !(await isHere())) {
          return "failed";
        }
        this.#reportProgress();
        if (this.#elapsed >= milliseconds || enough()) {
          return "copied";
        }
        const step = Math.min(TICK * speed, milliseconds - this.#elapsed);
        await this.#sleep(step / speed);
        this.#elapsed += step;
      }
    } finally {
      signal?.removeEventListener("abort", wake);
    }
  }

  async #sleep(milliseconds: number): Promise<void> {
    if (this.#wake.signal.aborted) {
      this.#wake = new AbortController();
    }
    const asleep = this.#wake.signal;
    try {
      await this.#options.timers.sleep(milliseconds, asleep);
    } catch (error) {
      if (!asleep.aborted) {
        throw error;
      }
    }
  }

  #reportProgress(): void {
    const { memoryMb, diskGb, milliseconds, onProgress } = this.#options;
    const done = milliseconds === 0 ? 1 : Math.min(1, this.#elapsed / milliseconds);
    const [memoryTotal, diskTotal] = [memoryMb * MIB, diskGb * GIB];
    const [memoryProcessed, diskProcessed] = [Math.floor(memoryTotal * done), Math.floor(diskTotal * done)];
    onProgress({
      memoryTotal,
      memoryProcessed,
      memoryRemaining: memoryTotal - memoryProcessed,
      diskTotal,
      diskProcessed,
      diskRemaining: diskTotal - diskProcessed,
    });
  }
}
