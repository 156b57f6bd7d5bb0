import { expect, test } from "vitest";
import * as operations from "../../src/agent/operations/flow/destination-checks.js";
import * as tracker from "../../src/agent/tracker/contract.js";
import * as placement from "../../src/placement-client/errors.js";

/** Errors that use Nova's name instead of their class name. */
const OTHERWISE: Readonly<Record<string, string>> = { ProviderConfigConflict: "ValueError" };

// Logs, faults of instances and the audit's messages contain these names, and operators search for them.
test.each([
  ["operations", operations],
  ["tracker", tracker],
  ["placement", placement],
] as [string, Readonly<Record<string, unknown>>][])("errors of %s are named as their classes", (_, module) => {
  const names = Object.entries(module).flatMap(([name, Kind]) => {
    return isErrorClass(Kind) ? [[name, new Kind("what was tried").name]] : [];
  });
  expect(names).toEqual(names.map(([name = ""]) => [name, OTHERWISE[name] ?? name]));
});

function isErrorClass(value: unknown): value is new (message: string) => Error {
  return typeof value === "function" && value.prototype instanceof Error;
}
