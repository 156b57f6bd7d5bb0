import { Argument, Command, type Option } from "commander";
import { isClusterName } from "../../control-plane/local/known-clusters.js";
import { DEFAULT_STATE_DIR, hostsWithState, stateDir } from "../../control-plane/local/state-dir.js";
import { NodeFiles } from "../../runtime/node/node-files.js";
import { knownClusters, nameOf, rootOf } from "../cluster/place.js";
import { isHidden } from "../ui/suggestions.js";

/** Kinds of values that are not listed in the command's own options. */
type ValueKind =
  | "host"
  | "log"
  | "cluster"
  | "snapshot"
  | "scenario"
  | "fault point"
  | "driver"
  | "condition"
  | "file"
  | "folder";

interface Candidate {
  readonly value: string;
  /** Displayed beside the value. */
  readonly about: string;
}

/** The possible completions of a line. `paths`: the shell also completes file names. @internal for tests */
export interface Completion {
  readonly candidates: readonly Candidate[];
  readonly paths: boolean;
}

/** Returns the values of a kind. `options` are those on the line, such as `name` and `stateDir`. */
type Values = (kind: ValueKind, options: ReadonlyMap<string, string>) => Promise<readonly string[]>;

/** Kinds of option values, by long flag. */
const OPTION_KINDS: Readonly<Record<string, ValueKind>> = {
  "--state-dir": "folder",
  "--state-path": "folder",
  "--config-dir": "folder",
  "--in": "folder",
  "--file": "file",
  "--config-file": "file",
  "--database": "file",
  "--plan": "file",
  "--out": "file",
  "--name": "cluster",
  "--into": "cluster",
  "--scenario": "scenario",
  "--host": "host",
  "--driver": "driver",
  "--compute-driver": "driver",
  "--for": "condition",
};

/** Kinds of arguments, by the command path and the argument's name. */
const ARGUMENT_KINDS: readonly (readonly [path: RegExp, kind: ValueKind])[] = [
  [/^(host |)logs name$/, "log"],
  [/^(host|fault) \w+ host$/, "host"],
  [/^fault \w+ (rule|point)$/, "fault point"],
  [/^delete name$/, "cluster"],
  [/^scenario \w+ name$/, "scenario"],
  [/^snapshot (restore|delete|export) name$/, "snapshot"],
  [/^driver \w+ driver$/, "driver"],
  [/ (file|plan|plan\.json)$|^apply /, "file"],
];

type Shell = (typeof SHELLS)[number];

/** Shells with a completion script. */
const SHELLS = ["bash", "zsh", "fish"] as const;

/** The output line that makes the shell also complete file names. */
const PATHS = ":paths";

const SCRIPTS: Readonly<Record<Shell, string>> = {
  // Bash splits words at `:` and `=`, so the part before them must be removed from candidates.
  bash: `# eval "$(PROGRAM completion bash)"
FUNCTION() {
  local line=\${COMP_LINE:0:COMP_POINT} value
  local last=\${line##*[[:space:]]}
  local there=\${last%"\${last##*[=:]}"}
  COMPREPLY=()
  while IFS=$'\\t' read -r value _; do
    if [[ $value == ${PATHS} ]]; then
      compopt -o default
    else
      COMPREPLY+=("\${value#"$there"}")
      [[ $value == *= ]] && compopt -o nospace
    fi
  done < <("$1" complete -- "$line" 2>/dev/null)
}
complete -F FUNCTION PROGRAM`,
  zsh: `#compdef PROGRAM
# eval "$(PROGRAM completion zsh)", or this as FUNCTION in a folder of $fpath
FUNCTION() {
  local line value about paths
  local -a values
  while IFS=$'\\t' read -r value about; do
    if [[ $value == ${PATHS} ]]; then
      paths=1
    else
      values+=("\${value//:/\\\\:}:$about")
    fi
  done < <("$words[1]" complete -- "\${(j: :)words[1,CURRENT]}" 2>/dev/null)
  (( $#values )) && _describe PROGRAM values
  [[ -n $paths ]] && _files
  return 0
}
if [[ $funcstack[1] == FUNCTION ]]; then
  FUNCTION "$@"
else
  compdef FUNCTION PROGRAM
fi`,
  fish: `# PROGRAM completion fish | source
function _FUNCTION
  set -l found (PROGRAM complete -- (commandline -cp | string collect) 2>/dev/null)
  string match -v -- '${PATHS}' $found
  contains -- '${PATHS}' $found; and __fish_complete_path (commandline -ct)
end
complete -c PROGRAM -f -a '(_FUNCTION)'`,
};

/** Creates `completion SHELL`, which prints a script. @param program name of the program */
export function completionCommand(program: string): Command {
  return new Command("completion")
    .summary("Print a completion script for bash, zsh or fish")
    .description(
      `For bash and zsh, put eval "$(${program} completion bash)" into the file that your interactive shell reads; for ` +
        `fish, run ${program} completion fish | source. The script completes commands, options and the current names of ` +
        `hosts, clusters, scenarios and fault points.`,
    )
    .addArgument(new Argument("<shell>", "shell of the script").choices(SHELLS))
    .action((shell: Shell) => {
      process.stdout.write(`${completionScript(shell, program)}\n`);
    });
}

/**
 * Prints completions for the scripts.
 * @param line up to the cursor
 * @param load loads the possible commands, by the word after the program
 */
export async function printCompletion(line: string, load: (first: string) => Promise<Command>): Promise<void> {
  const [, ...words] = lineWords(line);
  const program = await load(words.length > 1 ? (words[0] ?? "") : "");
  const { candidates, paths } = await complete(program, words, valuesOf);
  const lines = candidates.map(({ value, about }) => `${value}\t${about.replaceAll(/\s+/g, " ")}`);
  process.stdout.write([...lines, ...(paths ? [PATHS] : [])].map((text) => `${text}\n`).join(""));
}

function completionScript(shell: Shell, program: string): string {
  return SCRIPTS[shell].replaceAll("PROGRAM", program).replaceAll("FUNCTION", `_${program.replaceAll("-", "_")}`);
}

/** A word of a line: backslashes escape outside of quotes, and the last quote may be open. */
const WORD = /(?:\\.?|"[^"]*"?|'[^']*'?|[^\s"'\\])+/gs;

/** Splits an unfinished line into words as a shell does. The last word is incomplete, and may be empty. @internal */
export function lineWords(line: string): readonly string[] {
  const words = [...line.matchAll(WORD)];
  const last = words.at(-1);
  const isInWord = last !== undefined && last.index + last[0].length === line.length;
  const plain = words.map(([word]) => word.replaceAll(/\\(.?)|"([^"]*)"?|'([^']*)'?/gs, "$1$2$3"));
  return isInWord ? plain : [...plain, ""];
}

/** Returns the existing names of a kind; none if they are unreadable. */
async function valuesOf(kind: ValueKind, options: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const files = new NodeFiles();
  const name = options.get("name") ?? "";
  const root = isClusterName(name) ? rootOf(name) : (options.get("stateDir") ?? DEFAULT_STATE_DIR);
  const directory = stateDir(root, process.cwd());
  switch (kind) {
    case "host":
      return hostsWithState(files, directory);
    case "log": {
      const { SERVICES } = await import("../cluster/logs/find-sources.js");
      return ["control-plane", ...SERVICES, ...(await hostsWithState(files, directory))];
    }
    case "cluster":
      return (await knownClusters().roots()).map(nameOf).filter((found) => found !== null);
    case "snapshot": {
      const { Snapshots } = await import("../../control-plane/snapshot/snapshots.js");
      return (await new Snapshots(directory, files).list()).map((found) => found.name);
    }
    case "scenario":
      return (await import("../cluster/scenario/read-scenario.js")).scenarioNames(files);
    case "fault point":
      return [...(await import("../agent/agent-faults.js")).AGENT_FAULTS.keys()].map((point) => `${point}=`);
    case "driver":
      return Object.keys((await import("../agent/built-in-drivers.js")).BUILT_IN_DRIVERS);
    case "condition":
      return ["settled", "hosts=", "server="];
    case "file":
    case "folder":
      return [];
  }
}

/**
 * Returns the completions of a line, from the table of commands and options.
 * @param words after the program's name, the last one unfinished
 * @internal for tests
 */
export async function complete(program: Command, words: readonly string[], values: Values): Promise<Completion> {
  const last = words.at(-1) ?? "";
  const { candidates, paths } = await possible(follow(program, words.slice(0, -1)), last, values);
  return { candidates: candidates.filter(({ value }) => value.startsWith(last)), paths };
}

async function possible(
  { command, path, options, positional, awaited }: ReturnType<typeof follow>,
  last: string,
  values: Values,
): Promise<Completion> {
  if (awaited !== undefined) {
    return ofValue(awaited.argChoices, OPTION_KINDS[awaited.long ?? ""], options, values);
  }
  const children = positional === 0 ? command.commands.filter((child) => !isHidden(child)) : [];
  const argument = argumentAt(command, positional);
  if (last.startsWith("-") || (children.length === 0 && argument === undefined)) {
    return { candidates: flagsOf(command, last), paths: false };
  }
  if (argument === undefined || children.length > 0) {
    const candidates = children.map((child) => ({
      value: child.name(),
      about: child.summary() || child.description(),
    }));
    return { candidates, paths: false };
  }
  const place = [...path, argument.name()].join(" ");
  const kind = ARGUMENT_KINDS.find(([pattern]) => pattern.test(place))?.[1];
  return ofValue(argument.argChoices, kind, options, values);
}

/** Returns the command, options and expected value after these words. */
function follow(program: Command, words: readonly string[]) {
  let command = program;
  const path: string[] = [];
  const options = new Map<string, string>();
  let positional = 0;
  let awaited: Option | undefined;
  for (const word of words) {
    if (awaited !== undefined) {
      options.set(awaited.attributeName(), word);
      awaited = undefined;
      continue;
    }
    if (word.startsWith("-") && word !== "-") {
      const [flag = "", value] = word.split("=", 2);
      const option = optionsOf(command).find(({ long, short }) => long === flag || short === flag);
      if (option !== undefined && value !== undefined) {
        options.set(option.attributeName(), value);
      }
      awaited =
        option !== undefined && (option.required || option.optional) && value === undefined ? option : undefined;
      continue;
    }
    const child = positional === 0 ? command.commands.find((each) => each.name() === word) : undefined;
    if (child === undefined) {
      positional += 1;
    } else {
      command = child;
      path.push(word);
    }
  }
  return { command, path, options, positional, awaited };
}

/** Returns a command's options, including those of its parent commands. */
function optionsOf(command: Command): readonly Option[] {
  return [...command.options, ...(command.parent === null ? [] : optionsOf(command.parent))];
}

function flagsOf(command: Command, last: string): readonly Candidate[] {
  const isLong = last.startsWith("--") || last === "-" || last === "";
  const flags = optionsOf(command)
    .filter(({ hidden }) => !hidden)
    .map(({ long, short, description }) => ({ value: (isLong ? long : short) ?? long ?? "", about: description }));
  return [...flags, { value: isLong ? "--help" : "-h", about: "show what there is" }].filter(
    ({ value }) => value !== "",
  );
}

function argumentAt(command: Command, positional: number): Argument | undefined {
  const all = command.registeredArguments;
  const last = all.at(-1);
  return all[positional] ?? (last?.variadic === true ? last : undefined);
}

async function ofValue(
  choices: readonly string[] | undefined,
  kind: ValueKind | undefined,
  options: ReadonlyMap<string, string>,
  values: Values,
): Promise<Completion> {
  const found = choices ?? (kind === undefined ? [] : await values(kind, options));
  const paths = ["file", "folder", "driver", "scenario"].includes(kind ?? "");
  return { candidates: found.map((value) => ({ value, about: kind ?? "" })), paths };
}
