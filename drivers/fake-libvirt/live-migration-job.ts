import type { LiveMigrationProgress, Timers } from "../../src/virt/index.js";

/** A migration's progress, as the API has it: bytes. */
const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
/** Milliseconds between two looks, as Nova's monitor of libvirt's jobs has it. */
const TICK = 500;
/** The factor by which the rest is copied faster once the guest no longer writes here. */
const FORCED_SPEED = 10;

export interface CopyOptions {
  readonly memoryMb: number;
  /** 0 when the storage is shared. */
  readonly diskGb: number;
  /** What the whole copy takes. */
  readonly milliseconds: number;
  readonly signal: AbortSignal | undefined;
  readonly timers: Timers;
  readonly onProgress: (progress: LiveMigrationProgress) => void;
  /** The guest still runs here. */
  readonly isHere: () => Promise<boolean>;
}

/** `copied`, or why it is not: `forced`: the rest is to be copied without the guest writing here. */
export type CopyOutcome = "copied" | "forced" | "cancelled" | "failed";

/** The copying of one guest's memory and disks: takes time, tells how far it is, and can be stopped or forced. */
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

  /** False: it is too late, the guest is on its way. */
  cancel(): boolean {
    if (!this.#stoppable) {
      return false;
    }
    this.#cancelled = true;
    this.#wake.abort();
    return true;
  }

  /** Copies the rest at once. */
  force(): void {
    this.#forced = true;
    this.#wake.abort();
  }

  /** Copies until it is done, stopped or forced. Never rejects for a signal. */
  async copy(): Promise<CopyOutcome> {
    const outcome = await this.#copyUntil(() => this.#forced, 1);
    return outcome === "copied" && this.#forced && this.#elapsed < this.#options.milliseconds ? "forced" : outcome;
  }

  /** Copies what is left, fast. */
  async copyRest(): Promise<CopyOutcome> {
    return this.#copyUntil(() => false, FORCED_SPEED);
  }

  /** From now on {@link cancel} is too late. */
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
