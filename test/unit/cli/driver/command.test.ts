import { Command } from "commander";
import { describe, expect, test } from "vitest";
import { driverCommand } from "../../../../src/cli/driver/command.js";

/** Returns the output, and the code of the error that ended parsing. */
async function parse(...args: string[]) {
  const printed: string[] = [];
  const command = driverCommand();
  const keep = (text: string): void => void printed.push(text);
  for (const each of [command, ...command.commands]) {
    each.configureOutput({ writeOut: keep, writeErr: keep });
  }
  const program = new Command("compute-agent").addCommand(command);
  const error = await program.parseAsync(["driver", ...args], { from: "user" }).catch((thrown: unknown) => thrown);
  return { printed: printed.join(""), code: (error as { code?: string }).code };
}

describe("compute-agent driver", () => {
  test.each(["--option", "--waive"])("an invalid %s is rejected with the expected form", async (flag) => {
    const form = flag === "--waive" ? "rule=reason" : "name=value";
    const { printed, code } = await parse("check", "./mine", flag, "nothing");
    expect(printed).toContain(`expected ${form}.`);
    expect(code).toBe("commander.invalidArgument");
  });

  test.each([["frob"], ["check"], ["new"], ["check", "--frob", "./mine"]])(
    "%s %s prints its usage",
    async (...args) => {
      const { printed, code } = await parse(...args);
      expect(printed).toMatch(/^error: [\s\S]*Usage: compute-agent driver/);
      expect(code).toMatch(/^commander\.(unknownCommand|missingArgument|unknownOption)$/);
    },
  );

  test("help fits into 80 columns", async () => {
    const { printed } = await parse("check", "--help");
    expect(printed).toContain("Exit codes:");
    expect(printed.split("\n").filter((line) => line.length > 80)).toEqual([]);
  });
});
