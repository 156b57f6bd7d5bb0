import { expect, it } from "vitest";
import { commandLines, wordsOf } from "../../../../src/dashboard/actions.js";

const LINE = "compute-agent fault set {host} {rule} [--name {name}] [--all {all}]";

it("a command line has the values, quoted for a shell, without empty options", () => {
  const body = { host: "one; rm -rf /", rule: "driver.spawn=fail:once", all: false };
  expect(commandLines([LINE], body)).toEqual(["compute-agent fault set 'one; rm -rf /' 'driver.spawn=fail:once'"]);
  expect(commandLines([LINE], { host: "one", rule: "k", name: "it's", all: true })).toEqual([
    String.raw`compute-agent fault set one k --name 'it'\''s' --all`,
  ]);
});

it("any value is one argument of a program", () => {
  expect(wordsOf(LINE, { host: "one two", rule: "$(date) {host}", name: "[x]" })).toEqual([
    "compute-agent",
    "fault",
    "set",
    "one two",
    "$(date) {host}",
    "--name",
    "[x]",
  ]);
});
