import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { addCommands } from "../../../../src/cli/commands.js";
import { destructive, withSuggestions } from "../../../../src/cli/ui/suggestions.js";

/** Returns the first lines that a program prints about a wrong command line. */
async function errorOf(program: Command, words: string): Promise<string> {
  let text = "";
  const configure = (command: Command): void => {
    command
      .exitOverride()
      .showHelpAfterError(false)
      .configureOutput({ writeErr: (each) => (text += each) });
    command.commands.forEach(configure);
  };
  configure(program);
  await program.parseAsync(words.split(" "), { from: "user" }).catch(() => undefined);
  return text.trim();
}

describe("the suggestion for a wrong command or option", () => {
  it.each([
    ["stat", "error: unknown command 'stat'\n(Did you mean status?)"],
    ["statsu", "error: unknown command 'statsu'\n(Did you mean status?)"],
    ["start", "error: unknown command 'start'\n(Did you mean one of up, host start, virsh start?)"],
    ["stop", "error: unknown command 'stop'\n(Did you mean one of down, host stop?)"],
    ["kill", "error: unknown command 'kill'\n(Did you mean host kill?)"],
    ["save", "error: unknown command 'save'\n(Did you mean snapshot save?)"],
    ["xyzzy", "error: unknown command 'xyzzy'"],
    ["toString", "error: unknown command 'toString'"],
    ["host rm", "error: unknown command 'rm'\n(Did you mean remove?)"],
    ["fault add", "error: unknown command 'add'\n(Did you mean set?)"],
    ["snapshot create x", "error: unknown command 'create'\n(Did you mean save?)"],
    ["manage placement heal", "error: unknown command 'heal'\n(Did you mean heal_allocations?)"],
    ["up --hsots 2", "error: unknown option '--hsots'\n(Did you mean --hosts?)"],
    ["up --state /tmp", "error: unknown option '--state'\n(Did you mean --state-dir?)"],
    ["up --statedir=/tmp", "error: unknown option '--statedir=/tmp'\n(Did you mean --state-dir?)"],
    ["up --daemon", "error: unknown option '--daemon'\n(Did you mean --detach?)"],
    ["logs --tail 5", "error: unknown option '--tail'\n(Did you mean --lines?)"],
    ["status --verbose", "error: unknown option '--verbose'\n(Its options are --state-dir, --all, --json, --name)"],
  ])("of %s", async (words, text) => {
    expect(await errorOf(await addCommands(new Command("compute-agent"), undefined), words)).toBe(text);
  });

  it.each([
    ["create", "error: unknown command 'create'"],
    ["rset", "error: unknown command 'rset'"],
    ["res", "error: unknown command 'res'"],
    ["statsu", "error: unknown command 'statsu'\n(Did you mean status?)"],
  ])("of the mistyped %s is never a destructive command", async (name, text) => {
    const program = new Command("program")
      .addCommand(destructive(new Command("reset")))
      .addCommand(new Command("status"));
    expect(await errorOf(withSuggestions(program), name)).toBe(text);
  });
});
