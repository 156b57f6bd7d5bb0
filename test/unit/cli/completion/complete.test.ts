import { Command } from "commander";
import { expect, it } from "vitest";
import { faultCommand } from "../../../../src/cli/cluster/fault.js";
import { hostCommand } from "../../../../src/cli/cluster/host/host-command.js";
import { scenarioCommand } from "../../../../src/cli/cluster/scenario/scenario-command.js";
import { upCommand } from "../../../../src/cli/cluster/up.js";
import { type Completion, complete, lineWords } from "../../../../src/cli/completion/completion-command.js";

const PROGRAM = new Command("compute-cluster");
for (const command of [upCommand(), hostCommand(), faultCommand(), scenarioCommand()]) {
  PROGRAM.addCommand(command);
}
PROGRAM.command("secret", { hidden: true });

/** Returns the completions of the line. Each kind has one value, which includes the options that it depends on. */
function at(line: string): Promise<Completion> {
  const values = async (kind: string, options: ReadonlyMap<string, string>) => [
    [kind, ...options.values()].join(" of "),
  ];
  return complete(PROGRAM, lineWords(line).slice(1), values);
}
const names = async (line: string) => (await at(line)).candidates.map(({ value }) => value);

it("commands, their commands and their options are those of the table", async () => {
  expect(await names("compute-cluster ")).toEqual(["up", "host", "fault", "scenario"]);
  expect(await names("compute-agent host st")).toEqual(["start", "stop"]);
  expect(await names("compute-agent up --host")).toEqual(["--hosts", "--hosts-per-process"]);
  expect(await names("compute-agent host kill a --")).toEqual(["--state-dir", "--all", "--json", "--help"]);
  expect(await names("compute-cluster nonsense ")).toEqual(expect.arrayContaining(["--help"]));
});

it("values are the choices of an option, or existing names", async () => {
  expect(await names("compute-agent up --log-format ")).toEqual(["pretty", "json"]);
  expect(await names("compute-agent up --log-format j")).toEqual(["json"]);
  expect(await at("compute-agent up --scenario ")).toEqual({
    candidates: [{ value: "scenario", about: "scenario" }],
    paths: true,
  });
  expect(await names("compute-agent host kill --state-dir '/a b' ")).toEqual(["host of /a b"]);
  expect(await names("compute-agent host kill h1 h2 ")).toEqual(["host"]);
  expect(await names("compute-agent fault set h1 ")).toEqual(["fault point"]);
  expect(await names("compute-agent fault --state-dir=/x set h1 p=fail q")).toEqual([]);
  expect(await names("compute-agent scenario run ")).toEqual(["scenario"]);
  expect(await names("compute-agent scenario run x --into ")).toEqual(["cluster"]);
  expect((await at("compute-agent up --file ")).paths).toBe(true);
});

it("a line is split as a shell splits it", () => {
  expect(lineWords("a 'b c'\\ d \"e\"f ")).toEqual(["a", "b c d", "ef", ""]);
  expect(lineWords("a 'unfinished wo")).toEqual(["a", "unfinished wo"]);
  expect(lineWords("")).toEqual([""]);
});
