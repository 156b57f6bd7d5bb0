import type { QuirkName } from "../../../src/config/quirks.js";
import type { SeedOptions } from "../options.js";
import { SeedWorker } from "../seed-worker.js";

export interface HuntOptions {
  /** The options of every seed. */
  readonly each: SeedOptions;
  /** The first seed. */
  readonly seed: number;
  readonly jobs: number;
  /** Milliseconds of processor time of all processes; a busy machine does not affect it. */
  readonly limit: number;
}

/** The defect of a build. */
export interface Wrong {
  /** The program that simulates its seeds; absent: this build's. */
  readonly worker?: URL;
  readonly quirks: readonly QuirkName[];
}

/** The seed that found a bug, and the violation. */
export interface Sighting {
  readonly seed: number;
  readonly rule: string;
  readonly what: string;
}

/** Real milliseconds after which a simulation counts as endless. */
const HANGS = 300_000;

/** Simulates seeds with a bug until one violates a rule that it does not violate without the bug. */
export class Hunt {
  /** The number of simulated seeds, including the one that found it. */
  seeds = 0;
  /** Milliseconds. */
  virtualTime = 0;
  /** Milliseconds. */
  processorTime = 0;
  found: Sighting | null = null;
  /** Violations that also occur without the bug: the product itself has a bug. */
  readonly own: Sighting[] = [];
  readonly #wrong: Wrong;
  readonly #options: HuntOptions;
  readonly #workers = new Set<SeedWorker>();
  #next: number;

  constructor(wrong: Wrong, options: HuntOptions) {
    this.#wrong = wrong;
    this.#options = options;
    this.#next = options.seed;
  }

  async run(): Promise<void> {
    try {
      await Promise.all(Array.from({ length: this.#options.jobs }, () => this.#search()));
    } finally {
      this.#stop();
    }
  }

  async #search(): Promise<void> {
    let worker = this.#start(this.#wrong);
    while (this.#goesOn()) {
      const seed = this.#next;
      this.#next += 1;
      const sighting = await this.#look(worker, seed, this.#wrong);
      // A violation counts even if its seed exceeds the limit.
      if (this.found !== null) {
        return;
      }
      this.seeds += 1;
      if (sighting !== null) {
        this.#dismiss(worker);
        await this.#check(sighting);
        worker = this.#start(this.#wrong);
      }
    }
  }

  async #check(sighting: Sighting): Promise<void> {
    const healthy = { quirks: [] };
    const worker = this.#start(healthy);
    const without = await this.#look(worker, sighting.seed, healthy);
    this.#dismiss(worker);
    if (this.found !== null) {
      return;
    }
    if (without !== null) {
      this.own.push(without);
    } else {
      this.found = sighting;
      this.#stop();
    }
  }

  /** Returns null if no rule was violated, or the hunt has ended. */
  async #look(worker: SeedWorker, seed: number, { quirks }: Wrong): Promise<Sighting | null> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, HANGS, null);
    });
    try {
      const result = await Promise.race([worker.simulate(seed, { ...this.#options.each, quirks }), late]);
      this.virtualTime += result?.virtualTime ?? 0;
      this.processorTime += result?.processorTime ?? HANGS;
      const breach = result === null ? NEVER_ENDS : result.breaches[0];
      return breach === undefined ? null : { seed, rule: breach.rule, what: breach.what };
    } catch (error) {
      return { seed, rule: "the simulation ends", what: error instanceof Error ? error.message : String(error) };
    } finally {
      clearTimeout(timer);
    }
  }

  #goesOn(): boolean {
    return this.found === null && this.processorTime < this.#options.limit;
  }

  #start({ worker: program }: Wrong): SeedWorker {
    const worker = new SeedWorker(program);
    this.#workers.add(worker);
    return worker;
  }

  #dismiss(worker: SeedWorker): void {
    this.#workers.delete(worker);
    worker.end();
  }

  /** Ends all processes, and therefore their pending simulations. */
  #stop(): void {
    for (const worker of this.#workers) {
      this.#dismiss(worker);
    }
  }
}

const NEVER_ENDS = { rule: "the simulation ends", what: `not within ${HANGS / 1000} seconds` };
