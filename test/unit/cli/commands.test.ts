import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { agentCommand } from "../../../src/cli/agent/options.js";
import { addCommands, commandName } from "../../../src/cli/commands.js";
import { isHidden } from "../../../src/cli/ui/suggestions.js";

function subcommands(command: Command): readonly Command[] {
  return command.commands.flatMap((each) => [each, ...subcommands(each)]);
}

/** Returns the commands that the help shows. */
function visibleCommands(command: Command): readonly Command[] {
  return command.commands.filter((each) => !isHidden(each)).flatMap((each) => [each, ...visibleCommands(each)]);
}

const program = await addCommands(new Command("compute-agent").exitOverride(), undefined);

describe("the commands of a program", () => {
  it("stand in groups in the help", () => {
    const groups = new Set(program.commands.map((command) => command.helpGroup()));
    expect([...groups]).toEqual([
      "Cluster:",
      "Hosts:",
      "Inspect:",
      "Break:",
      "State:",
      "Repair:",
      "Drivers:",
      "Machines:",
      "Program:",
    ]);
  });

  it("have a summary of at most 60 characters, which begins with a capital letter", () => {
    const wrong = visibleCommands(program).filter(
      (command) => !/^[A-Z].{1,58}[^.]$/.test(command.summary() || command.description()),
    );
    expect(wrong.map((command) => command.name())).toEqual([]);
  });

  it("have options without the default of an empty list in the help", () => {
    const help = [program, ...program.commands].map((command) => command.helpInformation()).join("\n");
    expect(help).toContain("default: .compute-cluster");
    expect(help).not.toContain("default: []");
  });

  it("have a help that fits into 80 columns", () => {
    let printed = "";
    const output = { writeOut: (text: string) => (printed += text), getOutHelpWidth: () => 80 };
    for (const command of [agentCommand(async () => undefined), ...subcommands(program)]) {
      command.configureOutput(output).outputHelp();
    }
    expect(printed).toContain("Exit codes of --check:");
    expect(printed.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });

  it("are called by short and by former names too", () => {
    const called = ["ps", "ls", "rm", "drill", "status"].map(commandName);
    expect(called).toEqual(["status", "list", "delete", "smoke-test", "status"]);
    expect(commandName("statsu")).toBeUndefined();
    expect(commandName("toString")).toBeUndefined();
  });

  it("are shown once, and called by names of earlier releases too", async () => {
    const help = (command: Command | undefined, name: string): string =>
      command?.commands.find((each) => each.name() === name)?.helpInformation() ?? "";
    expect(commandName("db")).toBe("db");
    expect(program.commands.map((command) => command.name())).not.toContain("db");
    const former = await addCommands(new Command("compute-agent"), "db");
    expect(visibleCommands(former).map((command) => command.name())).toEqual([]);
    expect(subcommands(former).map((command) => command.name())).toEqual(["db", "online-data-migrations"]);
    expect(help(program, "manage")).toContain("Usage: compute-agent manage");
    expect(help(program, "host")).not.toMatch(/^ {2}logs/m);
    expect(subcommands(program).filter((command) => command.name() === "logs")).toHaveLength(2);
    expect(help(program, "replay")).toContain("--name <name>");
    expect(help(program, "replay")).not.toContain("--into");
  });

  it("are loaded alone if one is named", async () => {
    const alone = await addCommands(new Command("compute-agent"), "status");
    expect(alone.commands.map((command) => command.name())).toEqual(["status"]);
  });
});
