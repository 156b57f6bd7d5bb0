/** Tests of the virt driver contract for authors of drivers, published as `compute-agent/testing`. */

export { type CaseOutcome as Verdict, type CaseResult, countOf, type DriverReport, summaryOf } from "./attempt.js";
export { CONTRACT_CASES } from "./cases/index.js";
export { checkDriver, UnknownWaiver } from "./check-driver.js";
export { type ContractCase, ContractViolation } from "./contract-case.js";
export { describeDriver } from "./describe-driver.js";
export type {
  Canary,
  CanaryGuest,
  CanaryPlace,
  CaseSetUp,
  CheckDeps as CheckDoors,
  CheckPlace,
  DriverCheckOptions,
  SweptPlace,
} from "./options.js";
