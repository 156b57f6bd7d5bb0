import { nodeClock } from "../runtime/node/node-clock.js";
import { NodeFiles } from "../runtime/node/node-files.js";
import { nodeRandom } from "../runtime/node/node-random.js";
import { nodeTimers } from "../runtime/node/node-timers.js";
import { inTemporaryFolder } from "../runtime/node/temporary-folder.js";
import { UndiciHttpClient } from "../runtime/node/undici-http-client.js";
import { createVirtualRuntime } from "../simulation/create-virtual-runtime.js";
import type { DriverDefinition } from "../virt/index.js";
import { CONTRACT_CASES } from "./cases/index.js";
import { type ContractCase, ContractViolation, textOf } from "./contract-case.js";
import { DriverLab } from "./driver-lab.js";
import type { CheckDoors, DriverCheckOptions } from "./options.js";
import type { CaseResult, DriverReport } from "./report.js";

/** A waiver that waives nothing. */
export class UnknownWaiver extends Error {
  override readonly name = "UnknownWaiver";
}

/**
 * Holds a driver against the whole contract, without any test runner.
 * @param onResult is called with each case as it ends.
 * @param signal ends the check early, after its guests and folders are removed; the report lacks what was not tried.
 * @throws {UnknownWaiver}
 */
export async function checkDriver(
  definition: DriverDefinition,
  options: DriverCheckOptions = {},
  onResult: (result: CaseResult) => void = () => {},
  signal?: AbortSignal,
): Promise<DriverReport> {
  refuseUnknownWaivers(options);
  const results: CaseResult[] = [];
  for (const each of CONTRACT_CASES) {
    const result = await checkCase(definition, each, options, signal);
    if (signal?.aborted) {
      break;
    }
    results.push(result);
    onResult(result);
  }
  return { driver: definition.name, apiVersion: definition.apiVersion, results };
}

/** @throws {UnknownWaiver} with the waivers that exist. */
export function refuseUnknownWaivers({ waive = {} }: DriverCheckOptions): void {
  const codes = CONTRACT_CASES.map(({ code }) => code);
  const unknown = Object.keys(waive).filter((code) => !codes.includes(code));
  if (unknown.length > 0) {
    throw new UnknownWaiver(`waive names ${unknown.join(", ")}, which is no rule; there are ${codes.join(", ")}`);
  }
}

/** One rule, in a world of its own. Never rejects. */
export async function checkCase(
  definition: DriverDefinition,
  each: ContractCase,
  options: DriverCheckOptions,
  signal?: AbortSignal,
): Promise<CaseResult> {
  const { code, section, rule } = each;
  const base = { code, section, rule };
  const waiver = options.waive?.[code];
  if (waiver !== undefined) {
    return { ...base, verdict: "waived", message: waiver };
  }
  if (each.option !== undefined && options[each.option] === undefined) {
    return { ...base, verdict: "skipped", message: `option ${each.option} is not given` };
  }
  try {
    return await inWorld(options, async (doors, folder) => {
      const lab = new DriverLab(definition, doors, folder, options);
      try {
        const missing = await missingFor(each, lab);
        if (missing !== null) {
          return { ...base, verdict: "skipped", message: missing };
        }
        await orAborted(each.run(lab), signal);
        return { ...base, verdict: "passed" };
      } catch (error) {
        const method = error instanceof ContractViolation ? undefined : lab.blame(error);
        throw method === undefined ? error : new ContractViolation(method, "succeed here", `it threw ${textOf(error)}`);
      } finally {
        await lab.close();
      }
    });
  } catch (error) {
    return { ...base, verdict: "failed", message: error instanceof ContractViolation ? error.message : textOf(error) };
  }
}

/** @throws the signal's reason, at once. */
async function orAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) {
    return work;
  }
  await new Promise<void>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) {
      abort();
    }
    signal.addEventListener("abort", abort);
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Why a case does not concern the driver; null: it does. */
async function missingFor({ needs = [], capability }: ContractCase, lab: DriverLab): Promise<string | null> {
  if (needs.length === 0 && capability === undefined) {
    return null;
  }
  const { host } = await lab.connect();
  if (capability !== undefined && !host.capabilities[capability]) {
    return `the driver does not say ${capability}`;
  }
  const left = needs.filter((method) => !host.supports(method));
  return left.length === 0 ? null : `the driver has no ${left.join(", ")}`;
}

async function inWorld<T>(
  { time = "real" }: DriverCheckOptions,
  work: (doors: CheckDoors, folder: string) => Promise<T>,
): Promise<T> {
  if (time === "virtual") {
    const runtime = createVirtualRuntime();
    return runtime.runUntil(work(runtime, "/driver-check"), { limit: VIRTUAL_DAY });
  }
  // Not the whole runtime: who installs the package gets no package for servers and sockets.
  const http = new UndiciHttpClient();
  const doors = { clock: nodeClock(), timers: nodeTimers(), random: nodeRandom(), http, files: new NodeFiles() };
  try {
    return await inTemporaryFolder(doors, "driver-check", (folder) => work(doors, folder));
  } finally {
    await http.close();
  }
}

const VIRTUAL_DAY = 86_400_000;
