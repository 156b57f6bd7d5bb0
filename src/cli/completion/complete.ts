import type { Argument, Command, Option } from "commander";

/** What a value can be, where the command's table does not say it. */
export type ValueKind =
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
  /** What a person reads beside it. */
  readonly about: string;
}

/** What may stand at the end of a line; `paths`: the shell has to look for files, too. */
export interface Completion {
  readonly candidates: readonly Candidate[];
  readonly paths: boolean;
}

/** Values of a kind; `options`: those that stand on the line, as `name` and `stateDir`. */
export type Values = (kind: ValueKind, options: ReadonlyMap<string, string>) => Promise<readonly string[]>;

/** Values of options by their long flags. */
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

/** Values of arguments, by the commands that lead to them and their own names. */
const ARGUMENT_KINDS: readonly (readonly [path: RegExp, kind: ValueKind])[] = [
  [/^(host |)logs name$/, "log"],
  [/^(host|fault) \w+ host$/, "host"],
  [/^fault \w+ (knob|point)$/, "fault point"],
  [/^delete name$/, "cluster"],
  [/^scenario \w+ name$/, "scenario"],
  [/^snapshot (restore|delete|export) name$/, "snapshot"],
  [/^driver \w+ driver$/, "driver"],
  [/ (file|plan|plan\.json)$|^apply /, "file"],
];

/** What can stand where a line ends, by the table of commands and options. @param words after the program's name, the last one unfinished */
export async function complete(program: Command, words: readonly string[], values: Values): Promise<Completion> {
  const last = words.at(-1) ?? "";
  const { command, path, options, positional, awaited } = follow(program, words.slice(0, -1));
  const begins = ({ value }: Candidate) => value.startsWith(last);
  if (awaited !== undefined) {
    return ofValue(awaited.argChoices, OPTION_KINDS[awaited.long ?? ""], options, values).then(only(begins));
  }
  if (last.startsWith("-")) {
    return { candidates: flagsOf(command, last).filter(begins), paths: false };
  }
  const children = positional === 0 ? command.commands.filter((child) => !isHidden(child)) : [];
  if (children.length > 0) {
    const candidates = children.map((child) => ({
      value: child.name(),
      about: child.summary() || child.description(),
    }));
    return { candidates: candidates.filter(begins), paths: false };
  }
  const argument = argumentAt(command, positional);
  if (argument === undefined) {
    return { candidates: flagsOf(command, last).filter(begins), paths: false };
  }
  const place = [...path, argument.name()].join(" ");
  const kind = ARGUMENT_KINDS.find(([pattern]) => pattern.test(place))?.[1];
  return ofValue(argument.argChoices, kind, options, values).then(only(begins));
}

/** Where words lead to. */
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

/** A command takes the options of the commands above it, too. */
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

const isHidden = (command: Command): boolean => "_hidden" in command && command._hidden === true;

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

function only(begins: (candidate: Candidate) => boolean) {
  return ({ candidates, paths }: Completion): Completion => ({ candidates: candidates.filter(begins), paths });
}
