import type { Capabilities } from "../virt/capabilities.js";
import type { DriverMethod } from "../virt/driver-methods.js";
import type { DriverHarness } from "./driver-harness.js";
import type { KilledWork } from "./partly-done.js";

/** One rule of the contract, with what shows whether a driver keeps it. */
export interface ContractCase {
  /** Short and stable; what waivers and reports name. */
  readonly code: string;
  /** Section of the contract. */
  readonly section: string;
  /** The rule, in one line. */
  readonly rule: string;
  /** Left out by the driver: the case is skipped. Methods that every driver has need not be named. */
  readonly needs?: readonly DriverMethod[];
  /** The driver does not have it: the case is skipped. */
  readonly capability?: keyof Capabilities;
  /** Only with an option of the check. */
  readonly option?: "reshape" | "canary" | "canary.memory";
  readonly run: (harness: DriverHarness) => Promise<void>;
  /** Where the check can do that, the rule is shown with processes that are really killed, too. */
  readonly killed?: KilledWork;
}

/** The driver breaks a rule; says which method, which rule, and what was found instead. */
export class ContractViolation extends Error {
  override readonly name = "ContractViolation";
  readonly method: string;

  constructor(method: string, rule: string, found: string, options?: ErrorOptions) {
    super(`${method} must ${rule}, but ${found}`, options);
    this.method = method;
  }
}

/** @throws {ContractViolation} */
export function must(holds: boolean, method: DriverMethod, rule: string, found: string): void {
  if (!holds) {
    throw new ContractViolation(method, rule, found);
  }
}

/** The call succeeds. @throws {ContractViolation} */
export async function succeeds<T>(work: Promise<T>, method: DriverMethod, rule: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new ContractViolation(method, rule, `it threw ${textOf(error)}`, { cause: error });
  }
}

/** The call fails with one of these errors, by name. @throws {ContractViolation} */
export async function failsWith(
  work: Promise<unknown>,
  names: readonly string[],
  method: DriverMethod,
  when: string,
): Promise<void> {
  const rule = `throw ${names.join(" or ")} ${when}`;
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (outcome === undefined) {
    throw new ContractViolation(method, rule, "it succeeded");
  }
  if (!(outcome.error instanceof Error) || !names.includes(outcome.error.name)) {
    throw new ContractViolation(method, rule, `it threw ${textOf(outcome.error)}`, { cause: outcome.error });
  }
}

export function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
