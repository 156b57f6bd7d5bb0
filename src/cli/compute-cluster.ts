import { Command } from "commander";
import { addCommands, commandName } from "./commands.js";
import { version } from "./ui/command-line.js";
import { runProgram } from "./ui/run-program.js";

async function parse(): Promise<void> {
  const [, , first = "", , line = ""] = process.argv;
  if (first === "complete") {
    const { printCompletion } = await import("./completion/completion-command.js");
    await printCompletion(line, createProgram);
    return;
  }
  await (await createProgram(first)).parseAsync();
}

/** @param first the word after the program's name; if it is not a command, all commands are loaded */
async function createProgram(first: string): Promise<Command> {
  const program = new Command("compute-cluster")
    .description(
      "Manages local clusters: Placement, Compute, Identity, Image, Network and bare-metal services with a scheduler, a " +
        "conductor and agents. compute-agent has the same commands.",
    )
    .version(version())
    .showHelpAfterError("(--help lists the commands and options)")
    .exitOverride();
  return addCommands(program, commandName(first));
}

void runProgram("compute-agent", parse);
