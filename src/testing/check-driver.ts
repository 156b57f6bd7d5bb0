import type { DriverDefinition } from "../virt/index.js";
import { attempt, type CaseResult, type DriverReport } from "./attempt.js";
import { CONTRACT_CASES } from "./cases/index.js";
import type { ContractCase } from "./contract-case.js";
import type { DriverCheckOptions } from "./options.js";

/** A waiver for a rule that does not exist. */
export class UnknownWaiver extends Error {
  override readonly name = "UnknownWaiver";
}

/**
 * Checks a driver against the complete contract, without any test runner.
 * @param onResult is called with each case as it ends.
 * @param signal ends the check early, after its guests and folders are removed; the report lacks the cases not tried.
 * @throws {UnknownWaiver}
 */
export async function checkDriver(
  definition: DriverDefinition,
  options: DriverCheckOptions = {},
  onResult: (result: CaseResult) => void = () => {},
  signal?: AbortSignal,
): Promise<DriverReport> {
  assertKnownWaivers(options);
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
export function assertKnownWaivers({ waive = {} }: DriverCheckOptions): void {
  const codes = CONTRACT_CASES.map(({ code }) => code);
  const unknown = Object.keys(waive).filter((code) => !codes.includes(code));
  if (unknown.length > 0) {
    throw new UnknownWaiver(`waive names unknown rules: ${unknown.join(", ")}; known rules are ${codes.join(", ")}`);
  }
}

/** Checks one rule, in an environment of its own. Never rejects. */
export async function checkCase(
  definition: DriverDefinition,
  each: ContractCase,
  options: DriverCheckOptions,
  signal?: AbortSignal,
): Promise<CaseResult> {
  return (await attempt(definition, each, options, { signal })).result;
}
