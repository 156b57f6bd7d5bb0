import { Argument, Command } from "commander";
import { complete } from "./complete.js";
import { lineWords } from "./line-words.js";
import { completionScript, PATHS, SHELLS, type Shell } from "./scripts.js";
import { valuesOf } from "./values.js";

/** `completion SHELL` prints a script. @param program its name */
export function completionCommand(program: string): Command {
  return new Command("completion")
    .summary("print a script with which bash, zsh or fish complete commands, options and names")
    .description(
      `For bash and zsh, in the file that an interactive shell reads: eval "$(${program} completion bash)". For fish: ` +
        `${program} completion fish | source. Names of hosts, clusters, scenarios and fault points are those that there are then.`,
    )
    .addArgument(new Argument("<shell>").choices(SHELLS))
    .action((shell: Shell) => {
      process.stdout.write(`${completionScript(shell, program)}\n`);
    });
}

/** What the scripts ask. @param line up to the cursor @param load the commands that can be meant, by the word after the program */
export async function printCompletion(line: string, load: (first: string) => Promise<Command>): Promise<void> {
  const [, ...words] = lineWords(line);
  const program = await load(words.length > 1 ? (words[0] ?? "") : "");
  const { candidates, paths } = await complete(program, words, valuesOf);
  const lines = candidates.map(({ value, about }) => `${value}\t${about.replaceAll(/\s+/g, " ")}`);
  process.stdout.write([...lines, ...(paths ? [PATHS] : [])].map((text) => `${text}\n`).join(""));
}
