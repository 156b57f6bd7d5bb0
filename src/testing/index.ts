/** Tests of the virt driver contract for authors of drivers, published as `compute-agent/testing`. */

export {
  type CaseOutcome,
  /** @deprecated The name of CaseOutcome until release 0.2. */
  type CaseOutcome as Verdict,
  type CaseResult,
  countOf,
  type DriverReport,
  summaryOf,
} from "./attempt.js";
export { CONTRACT_CASES } from "./cases/index.js";
export { checkDriver, UnknownWaiver } from "./check-driver.js";
export { type ContractCase, ContractViolation } from "./contract-case.js";
export { describeDriver } from "./describe-driver.js";
export type {
  Canary,
  CanaryGuest,
  CanaryPlace,
  CaseSetUp,
  CheckDeps,
  /** @deprecated The name of CheckDeps until release 0.2. */
  CheckDeps as CheckDoors,
  CheckPlace,
  DriverCheckOptions,
  SweptPlace,
} from "./options.js";
