import type { RunnerTestCase as Test } from "vitest";
import { VitestTestRunner } from "vitest/runners";
import { Journal } from "./journal.js";
import { LOADING_MUTANT, NOT_LOADED, PLAN_FILE, readPlan } from "./plan.js";
import { installSwitch } from "./switch.js";

type Retried = { readonly retry: number; readonly repeats: number };

/** The result of a test without any mutant. */
interface Baseline {
  readonly failed: boolean;
  readonly hits: ReadonlySet<number>;
  /** Milliseconds of processor time. */
  readonly cost: number;
}

const plan = readPlan(process.env[PLAN_FILE] ?? "");
const loading = Number(process.env[LOADING_MUTANT] ?? 0);
const journal = new Journal(plan.journal);
const mutants = installSwitch();
mutants.active = loading;

const TOO_LONG = "takes too long";

/** A test that costs more than this share of a mutant's time is skipped, such as properties with thousands of runs. */
const DEAR = 0.3;

/** The process's processor time before this run, in milliseconds. */
const begun = processorTime();

/**
 * Milliseconds between checks of a test that may hang. Checks count instead of time, since a busy machine delays both
 * the test and them.
 */
const TICK = 100;

/** The mutants that are not killed yet, with the remaining milliseconds of each. */
const alive = new Map(plan.mutants.map(({ id }) => [id, plan.timeoutMs]));
const reached = new Set<number>();
const sources = new Map(plan.mutants.map(({ id, path }) => [id, path]));

/**
 * Runs each test without a mutant, to record which mutants it reaches, and then once for each of those that is not
 * killed.
 * Vitest repeats a test once, and retries this repetition once per mutant, so hooks run each time.
 */
export default class MutantRunner extends VitestTestRunner {
  #left: readonly number[] = [];
  #started = 0;
  #spent = 0;
  /** The test's duration without a mutant, in milliseconds. */
  #usual = 0;

  override async onBeforeRunTask(test: Test): Promise<void> {
    if (test.mode === "run" || test.mode === "queued") {
      this.#before(test);
    }
    await super.onBeforeRunTask(test);
  }

  #before(test: Test): void {
    if (loading !== 0) {
      test.retry = 0;
      test.mode = alive.has(loading) ? test.mode : "skip";
      return;
    }
    const loadTimeIds = [...mutants.take()].filter((id) => alive.has(id));
    if (loadTimeIds.length > 0) {
      journal.write({ kind: "load", ids: loadTimeIds });
    }
    this.#left = [];
    test.retry = 0;
    test.repeats = 1;
  }

  override onBeforeTryTask(test: Test, tried: Retried = { retry: 0, repeats: 0 }): void {
    super.onBeforeTryTask(test);
    this.#started = performance.now();
    this.#spent = processorTime();
    if (loading !== 0) {
      journal.write({ kind: "try", id: loading, test: nameOf(test) });
      return;
    }
    if (tried.repeats === 0) {
      return;
    }
    const id = this.#left[tried.retry];
    if (id === undefined) {
      test.context.skip();
      return;
    }
    if (test.result) {
      test.result.state = "run";
      delete test.result.errors;
    }
    journal.write({ kind: "try", id, test: nameOf(test) });
    mutants.active = id;
  }

  /** Skips the remaining test files of a mutant of module loading when it is killed or its time is used up. */
  override importFile(...[path, source]: Parameters<VitestTestRunner["importFile"]>): unknown {
    if (loading !== 0 && source === "collect") {
      if (processorTime() - begun > plan.timeoutMs) {
        alive.delete(loading);
      }
      if (!alive.has(loading)) {
        throw new Error(NOT_LOADED);
      }
    }
    return super.importFile(path, source);
  }

  /**
   * Runs a test with a time limit. The test's own limit is for working code; with a mutant it is five times the usual
   * duration.
   * The usual duration is unknown for mutants of module loading; their limit is the complete time of the mutant.
   */
  async runTask(test: Test): Promise<void> {
    const run = VitestTestRunner.getTestFn(test);
    if (mutants.active === 0) {
      await run();
      return;
    }
    let ticks = (3000 + (loading === 0 ? 5 * this.#usual : plan.timeoutMs)) / TICK;
    let timer: NodeJS.Timeout | undefined;
    const hangs = new Promise<never>((_resolve, reject) => {
      timer = setInterval(() => {
        ticks -= 1;
        if (ticks <= 0) {
          reject(new Error(TOO_LONG));
        }
      }, TICK);
    });
    try {
      await Promise.race([run(), hangs]);
    } finally {
      clearInterval(timer);
    }
  }

  onAfterRetryTask(test: Test, tried: Retried): void {
    const failed = test.result?.state === "fail";
    const cost = processorTime() - this.#spent;
    if (loading !== 0) {
      this.#evaluateLoading(test, failed, cost);
      return;
    }
    mutants.active = 0;
    const hits = mutants.take();
    if (tried.repeats === 0) {
      this.#usual = performance.now() - this.#started;
      this.#learn(test, { failed, hits, cost });
      return;
    }
    const id = this.#left[tried.retry];
    if (id === undefined || !test.result) {
      return;
    }
    this.#evaluate(id, failed, cost, test);
    // Vitest starts the next retry only after an error.
    const isLast = tried.retry === this.#left.length - 1;
    test.result.state = isLast ? "pass" : "fail";
    test.result.errors = isLast ? [] : [{ message: "the next mutant" }];
  }

  #learn(test: Test, { failed, hits, cost }: Baseline): void {
    const found = [...hits].filter((id) => !reached.has(id));
    for (const id of found) {
      reached.add(id);
    }
    if (found.length > 0) {
      journal.write({ kind: "reach", ids: found });
    }
    if (failed && !test.fails) {
      journal.write({ kind: "red", test: nameOf(test) });
    }
    const isUseless = failed || test.fails || cost > plan.timeoutMs * DEAR;
    this.#left = isUseless ? [] : [...hits].filter((id) => alive.has(id) && isTriedBy(id, test.file.name));
    test.retry = Math.max(0, this.#left.length - 1);
  }

  /** Ignores a timeout if the test used the processor all the time: it may just be expensive. */
  #evaluateLoading(test: Test, failed: boolean, cost: number): void {
    const isTooLong = test.result?.errors?.some(({ message }) => message === TOO_LONG);
    if (test.result && isTooLong && cost > plan.timeoutMs * DEAR) {
      test.result.state = "pass";
      test.result.errors = [];
      alive.delete(loading);
    } else if (failed) {
      alive.delete(loading);
      journal.write({ kind: "kill", id: loading, test: nameOf(test) });
    } else if (processorTime() - begun > plan.timeoutMs) {
      alive.delete(loading);
    }
  }

  #evaluate(id: number, failed: boolean, cost: number, test: Test): void {
    const left = (alive.get(id) ?? 0) - cost;
    if (failed) {
      alive.delete(id);
      journal.write({ kind: "kill", id, test: nameOf(test) });
    } else if (left <= 0) {
      alive.delete(id);
      journal.write({ kind: "spent", id });
    } else {
      alive.set(id, left);
    }
  }

  override onCollectStart(file: Parameters<VitestTestRunner["onCollectStart"]>[0]): void {
    journal.write({ kind: "file", path: file.filepath });
    super.onCollectStart(file);
  }
}

function isTriedBy(id: number, testFile: string): boolean {
  const isNear = plan.near[sources.get(id) ?? ""]?.includes(testFile) ?? false;
  return isNear === (plan.tries === "near");
}

/** Returns the processor time in milliseconds. Unlike a clock, it does not depend on the machine's load. */
function processorTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function nameOf(test: Test): string {
  return `${test.file.name} > ${test.name}`;
}
