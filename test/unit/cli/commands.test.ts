import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { addCommands, commandName } from "../../../src/cli/commands.js";

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

  it("have a summary of one line each", () => {
    const without = program.commands.filter((command) => command.summary() === "").map((command) => command.name());
    expect(without).toEqual([]);
  });

  it("are called by short and by former names too", () => {
    const called = ["ps", "ls", "rm", "drill", "status"].map(commandName);
    expect(called).toEqual(["status", "list", "delete", "smoke-test", "status"]);
    expect(commandName("statsu")).toBeUndefined();
    expect(commandName("toString")).toBeUndefined();
  });

  it("are loaded alone if one is named", async () => {
    const alone = await addCommands(new Command("compute-agent"), "status");
    expect(alone.commands.map((command) => command.name())).toEqual(["status"]);
  });
});
