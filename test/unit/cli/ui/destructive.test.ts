import { Command } from "commander";
import { expect, it } from "vitest";
import { destructive, unknownCommandText } from "../../../../src/cli/ui/command-line.js";

it.each([
  ["create", "error: unknown command 'create'"],
  ["rset", "error: unknown command 'rset'"],
  ["statsu", "error: unknown command 'statsu'\n(Did you mean status?)"],
])("the suggestion for %s is never a destructive command", (name, text) => {
  const program = new Command("program")
    .addCommand(destructive(new Command("reset")))
    .addCommand(new Command("status"));
  program.args = [name];
  expect(unknownCommandText(program)).toBe(text);
});
