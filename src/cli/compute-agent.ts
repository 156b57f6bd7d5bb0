import { Command } from "commander";
import { type AgentCommandOptions, agentCommand } from "./agent/options.js";
import { addCommands, commandName } from "./commands.js";
import { version } from "./ui/command-line.js";
import { endProcess, runProgram } from "./ui/run-program.js";
import { withSuggestions } from "./ui/suggestions.js";

async function run(options: AgentCommandOptions): Promise<number> {
  if (options.showConfig === true) {
    return (await import("./agent/show-config.js")).printConfig(options);
  }
  if (options.check === true) {
    return (await import("./agent/check/print-check.js")).printCheck(options);
  }
  if (options.dryRun === true) {
    return (await import("./agent/dry-run.js")).printDryRun(options);
  }
  if (options.watch === true) {
    return (await import("./agent/watch.js")).serveAndWatch(options, process.argv.slice(2));
  }
  return (await import("./agent/serve.js")).serve(options);
}

async function parse(): Promise<void> {
  const [, , first = "", second = "", line = ""] = process.argv;
  if (first === "complete") {
    const { printCompletion } = await import("./completion/completion-command.js");
    await printCompletion(line, (word) => (isCommandWord(word) ? createProgram(word) : createFullProgram()));
    return;
  }
  if (isHelp(first) && second === "") {
    await (await createFullProgram()).parseAsync(["--help"], { from: "user" });
  } else if (isCommandWord(first)) {
    await (await createProgram(first)).parseAsync();
  } else {
    await createAgentCommand().parseAsync();
  }
}

const isCommandWord = (word: string): boolean => word !== "" && !word.startsWith("-");

const isHelp = (word: string): boolean => ["-h", "--help", "help"].includes(word);

function createAgentCommand(): Command {
  return withSuggestions(
    agentCommand(async (options) => {
      endProcess(await run(options), "compute-agent");
    }),
  );
}

/** Creates the program with the options of the agent and all commands, for the help and the completion. */
const createFullProgram = (): Promise<Command> => addCommands(createAgentCommand(), undefined);

/** @param first the word after the program's name; if it is not a command, all commands are loaded */
function createProgram(first: string): Promise<Command> {
  const program = new Command("compute-agent")
    .version(version())
    .showHelpAfterError("(--help lists the commands and options)")
    .exitOverride();
  return addCommands(program, commandName(first));
}

void runProgram("compute-agent", parse);
