import { expect, test } from "vitest";
import { mayEnd } from "../../../simulator/bare-metal/ironic-hosts.js";

function failure(name: string): Error {
  return Object.assign(new Error("no"), { name });
}

test.each([
  ["IronicError", "initializing", true],
  ["IronicError", "serving", false],
  ["HostLeaseLost", "serving", true],
  ["TypeError", "initializing", false],
] as const)("%s may end an agent that is %s: %s", (name, before, may) => {
  expect(mayEnd(failure(name), before)).toBe(may);
});
