import { nodeClock, nodeTimers } from "../runtime/node/node-builtins.js";
import { nodeRandom } from "../runtime/node/node-cryptography.js";
import { inTemporaryFolder, NodeFiles } from "../runtime/node/node-files.js";
import { NodePrograms } from "../runtime/node/node-processes.js";
import { nodeStreams } from "../runtime/node/node-streams.js";
import { UndiciHttpClient } from "../runtime/node/undici-http-client.js";
import { createVirtualRuntime } from "../simulation/virtual-world.js";
import type { DriverDefinition } from "../virt/index.js";
import { type ContractCase, ContractViolation, textOf, type WorkSubject } from "./contract-case.js";
import { DriverHarness, type HarnessWatch } from "./driver-harness.js";
import type { HarnessMemory } from "./harness-fixtures.js";
import type { CheckDeps, DriverCheckOptions } from "./options.js";

type Work<T> = (deps: CheckDeps, folder: string) => Promise<T>;

const VIRTUAL_DAY = 86_400_000;

/** `unreached`: unknown, since an earlier rule has already failed by the same cause. */
export type CaseOutcome = "passed" | "failed" | "skipped" | "waived" | "unreached";

/** The result of one rule for a driver. */
export interface CaseResult {
  readonly code: string;
  readonly section: string;
  readonly rule: string;
  readonly outcome: CaseOutcome;
  /** The reason of a failure, skip or waiver. */
  readonly message?: string;
  /** Duration, if it was measured. */
  readonly milliseconds?: number;
}

/** The results of a check, ready to be written as JSON. */
export interface DriverReport {
  readonly driver: string;
  readonly apiVersion: string;
  readonly results: readonly CaseResult[];
}

/** An error of a driver's method. Rules that fail by the same cause are reported once. */
export interface Cause {
  readonly method: string;
  readonly text: string;
}

/** The result of one attempt to check a rule. */
export interface Attempt {
  readonly result: CaseResult;
  /** null if the rule did not fail, or not by an error of the driver. */
  readonly cause: Cause | null;
  /** See {@link DriverHarness.adapterCalls}. */
  readonly adapterCalls: number;
}

export interface AttemptOptions {
  readonly signal?: AbortSignal | undefined;
  /** A folder in the real file system, which is not removed. */
  readonly folder?: string;
  readonly watch?: HarnessWatch;
}

/** Reasons to skip a rule that needs an option of the check. */
const NOT_PROVED: Readonly<Record<NonNullable<ContractCase["option"]>, string>> = {
  reshape: "option reshape is not set",
  canary: "option canary is not set: the preservation of disk data was not checked",
  "canary.memory": "option canary.memory is not set: the preservation of memory was not checked",
};

/** Checks one rule, in an environment of its own. Never rejects. */
export async function attempt(
  definition: DriverDefinition,
  each: ContractCase,
  options: DriverCheckOptions,
  { signal, folder, watch = {} }: AttemptOptions = {},
): Promise<Attempt> {
  const waiver = options.waive?.[each.code];
  if (waiver !== undefined) {
    return without(each, "waived", waiver);
  }
  const missing = withoutOption(each, options);
  if (missing !== null) {
    return without(each, "skipped", missing);
  }
  return inWorld(
    options,
    (deps, place) => {
      const harness = new DriverHarness(definition, deps, place, options, watch);
      return ending(each, harness, signal, async () => {
        const lack = await missingFor(each, harness);
        if (lack === null) {
          await orAborted(each.run(harness), signal);
        }
        return lack;
      });
    },
    folder,
  ).catch((error: unknown) => failure(each, error, null));
}

/**
 * Starts the work during which the process is to be killed. The caller kills the process when `strike` is called, or when
 * this resolves with null. Real time. @returns a failed or skipped attempt if the work could not be started
 */
export async function beginKilled(
  definition: DriverDefinition,
  each: ContractCase,
  options: DriverCheckOptions,
  { folder, watch = {}, signal }: AttemptOptions,
  kill: {
    readonly call: number | null;
    readonly strike: () => void;
    readonly begun: (subject: WorkSubject, memory: HarnessMemory) => Promise<void>;
  },
): Promise<Attempt | null> {
  return inRealWorld(async (deps, place) => {
    const harness = new DriverHarness(definition, deps, place, options, watch);
    try {
      const begun = await orAborted(
        each.killed?.begin(harness) ?? Promise.reject(new Error(`${each.code} has no work to kill`)),
        signal,
      );
      const { on, work, instance, moved } = begun;
      await kill.begun({ instance, moved }, harness.memory);
      if (kill.call !== null) {
        on.sabotage.arm(kill.call, kill.strike);
      }
      await orAborted(
        work().catch(() => {}),
        signal,
      );
      return null;
    } catch (error) {
      await harness.close();
      return failure(each, error, harness);
    }
  }, folder);
}

/** Checks the state after the kill, in a new process without any state of the killed one. Real time. */
export async function lookAfterKill(
  definition: DriverDefinition,
  each: ContractCase,
  options: DriverCheckOptions,
  { folder, watch = {}, signal }: AttemptOptions,
  { subject, killed }: { readonly subject: WorkSubject; readonly killed: string },
): Promise<Attempt> {
  return inRealWorld((deps, place) => {
    const harness = new DriverHarness(definition, deps, place, options, watch);
    return ending(each, harness, signal, async () => {
      await orAborted(each.killed?.look(harness, subject, killed) ?? Promise.resolve(), signal);
      return null;
    });
  }, folder);
}

/** Destroys the guests of an ended process as far as the driver can, then sweeps. @returns the swept items */
export async function clearAway(
  definition: DriverDefinition,
  options: DriverCheckOptions,
  { folder, watch = {} }: AttemptOptions,
): Promise<readonly string[]> {
  return inRealWorld(async (deps, place) => {
    const harness = new DriverHarness(definition, deps, place, options, watch);
    const hosts = new Set((watch.memory?.placed ?? []).map(([, host]) => host));
    for (const host of hosts) {
      await harness.connect(host).catch(() => {});
    }
    await harness.close();
    return (await options.sweep?.({ folder: place, deps, doors: deps })) ?? [];
  }, folder);
}

/** Closes the harness, and sweeps after a failure. */
async function ending(
  each: ContractCase,
  harness: DriverHarness,
  signal: AbortSignal | undefined,
  work: () => Promise<string | null>,
): Promise<Attempt> {
  let outcome: Attempt;
  try {
    const lack = await work();
    outcome =
      lack === null
        ? { ...without(each, "passed"), adapterCalls: harness.adapterCalls }
        : without(each, "skipped", lack);
  } catch (error) {
    outcome = failure(each, error, harness);
  }
  await harness.close();
  if (outcome.result.outcome === "failed" || signal?.aborted) {
    await harness.sweep();
  }
  return outcome;
}

function without(
  { code, section, rule }: ContractCase,
  outcome: "passed" | "skipped" | "waived",
  message?: string,
): Attempt {
  const result = { code, section, rule, outcome: outcome, ...(message === undefined ? {} : { message }) };
  return { result, cause: null, adapterCalls: 0 };
}

function failure({ code, section, rule }: ContractCase, error: unknown, harness: DriverHarness | null): Attempt {
  const thrown = error instanceof ContractViolation ? error.cause : error;
  const method = harness?.blame(thrown);
  const text = textOf(thrown);
  // An error injected by the check itself is no cause.
  const cause = method === undefined || text.includes("sabotage:") ? null : { method, text };
  const message =
    error instanceof ContractViolation
      ? error.message
      : method === undefined
        ? text
        : new ContractViolation(method, "succeed here", `it threw ${text}`).message;
  return { result: { code, section, rule, outcome: "failed", message }, cause, adapterCalls: 0 };
}

/** @throws the signal's reason, as soon as it is aborted */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) {
    return work;
  }
  return new Promise<T>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) {
      abort();
    }
    signal.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Returns why the case cannot run with these options; null if it can. */
function withoutOption({ option }: ContractCase, { reshape, canary }: DriverCheckOptions): string | null {
  const provided = { reshape, canary, "canary.memory": canary?.memory };
  return option === undefined || provided[option] !== undefined ? null : NOT_PROVED[option];
}

/** Returns why a case does not apply to the driver; null if it does. */
async function missingFor({ needs = [], capability }: ContractCase, harness: DriverHarness): Promise<string | null> {
  if (needs.length === 0 && capability === undefined) {
    return null;
  }
  const { host } = await harness.connect();
  if (capability !== undefined && !host.capabilities[capability]) {
    return `the driver does not declare ${capability}`;
  }
  const left = needs.filter((method) => !host.supports(method));
  return left.length === 0 ? null : `the driver has no ${left.join(", ")}`;
}

export function countOf({ results }: DriverReport, outcome: CaseOutcome): number {
  return results.filter((result) => result.outcome === outcome).length;
}

/** Returns, for example, `24 passed, 1 failed, 3 skipped, 0 waived`, and the number of rules not reached, if any. */
export function summaryOf(report: DriverReport): string {
  const counts = (["passed", "failed", "skipped", "waived"] as const).map(
    (outcome) => `${countOf(report, outcome)} ${outcome}`,
  );
  const unreached = countOf(report, "unreached");
  return [...counts, ...(unreached === 0 ? [] : [`${unreached} not reached`])].join(", ");
}

/**
 * Runs the work with the interfaces and the folder of a case.
 * @param folder in the real file system, not removed; by default a temporary folder that is removed
 */
async function inWorld<T>(
  { time = "real" }: DriverCheckOptions,
  work: Work<T>,
  folder: string | undefined,
): Promise<T> {
  if (time === "virtual") {
    const runtime = createVirtualRuntime();
    const deps = { ...runtime, processes: runtime.programs, sockets: runtime.streams };
    return runtime.runUntil(work(deps, "/driver-check"), { limit: VIRTUAL_DAY });
  }
  return inRealWorld(work, folder);
}

/** Does not use the complete runtime, since its packages for servers and sockets are not installed with this package. */
async function inRealWorld<T>(work: Work<T>, folder?: string): Promise<T> {
  const http = new UndiciHttpClient();
  const deps = {
    clock: nodeClock(),
    timers: nodeTimers(),
    random: nodeRandom(),
    http,
    files: new NodeFiles(),
    processes: new NodePrograms(),
    sockets: nodeStreams(),
  };
  try {
    if (folder === undefined) {
      return await inTemporaryFolder(deps, "driver-check", (made) => work(deps, made));
    }
    await deps.files.makeFolder(folder, { mode: 0o700 });
    return await work(deps, folder);
  } finally {
    await http.close();
  }
}
