import type { Command, Option } from "commander";
import { didYouMean } from "../../runtime/error-messages.js";

const DESTRUCTIVE = new WeakSet<Command>();

/** Marks a command as destructive, so that it is never suggested for a mistyped name. */
export function destructive(command: Command): Command {
  DESTRUCTIVE.add(command);
  return command;
}

/** Names of commands in similar programs, with the names here. The first that the program has is suggested. */
const COMMAND_SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  add: ["set", "save"],
  create: ["save", "add", "new", "up"],
  destroy: ["delete", "remove"],
  exit: ["down"],
  init: ["new", "up"],
  ls: ["list"],
  remove: ["delete"],
  rm: ["remove", "delete"],
  run: ["exec"],
  start: ["up"],
  stop: ["down"],
  tail: ["logs"],
  unset: ["clear"],
};

/** Options of similar programs, with the options here. The first that the command has is suggested. */
const OPTION_SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  "--background": ["--detach"],
  "--config": ["--config-file", "--file"],
  "--count": ["--hosts", "--lines"],
  "--daemon": ["--detach"],
  "--force": ["--yes"],
  "--format": ["--json"],
  "--output": ["--json", "--out"],
  "--tail": ["--lines"],
  "--watch": ["--follow"],
  "-d": ["--detach"],
  "-f": ["--file"],
  "-n": ["--name"],
  "-p": ["--port"],
  "-y": ["--yes"],
};

/** Max number of names in one message. */
const MAX_NAMES = 8;

/** Shortest beginning of a name that is completed. */
const MIN_PREFIX = 2;

/** Adds suggestions to the errors of a command about unknown subcommands and options. */
export function withSuggestions(command: Command): Command {
  const fail = command.error.bind(command);
  command.error = (message, options) => {
    switch (options?.code) {
      case "commander.unknownCommand":
        return fail(unknownCommandText(command), options);
      case "commander.unknownOption":
        return fail(unknownOptionText(command, message), options);
      default:
        return fail(message, options);
    }
  };
  return command;
}

/** Returns the message for an unknown subcommand. Mistyped names never become destructive commands. */
function unknownCommandText(command: Command): string {
  const [name = ""] = command.args;
  const visible = command.commands.filter((each) => !isHidden(each));
  const safe = visible.filter((each) => !DESTRUCTIVE.has(each)).map((each) => each.name());
  const names = new Set(visible.map((each) => each.name()));
  const synonym = synonymsOf(COMMAND_SYNONYMS, name).find((each) => names.has(each));
  const near = didYouMean(name, safe);
  const nested = visible.flatMap((each) =>
    each.commands.filter((child) => child.name() === name && !isHidden(child)).map(() => `${each.name()} ${name}`),
  );
  const suggested = synonym === undefined ? (near === undefined ? completions(name, safe) : [near]) : [synonym];
  return `error: unknown command '${name}'${question([...suggested, ...nested])}`;
}

/** @param message of commander, which quotes the option, and may have a suggestion of its own */
function unknownOptionText(command: Command, message: string): string {
  const flag = /unknown option '([^'=]*)/.exec(message)?.[1];
  if (flag === undefined || message.includes("\n")) {
    return message;
  }
  const options = visibleOptions(command);
  const flags = options.map(({ long, short }) => long ?? short ?? "");
  const synonym = synonymsOf(OPTION_SYNONYMS, flag).find((each) => flags.includes(each));
  const joined = flags.find((each) => each.replaceAll("-", "") === flag.replaceAll("-", ""));
  const found = synonym ?? joined;
  const suggested = found === undefined ? completions(flag, flags) : [found];
  if (suggested.length > 0 || flags.length === 0 || flags.length > MAX_NAMES) {
    return message + question(suggested);
  }
  return `${message}\n(Its options are ${flags.join(", ")})`;
}

/** Returns the options that the command accepts, those of its parents included. */
function visibleOptions(command: Command): readonly Option[] {
  const own = command.options.filter(({ hidden }) => !hidden);
  // The program's own options are those of an agent, or of the version.
  return command.parent === null || command.parent.parent === null ? own : [...own, ...visibleOptions(command.parent)];
}

/** Returns the names that begin with a word, if they are few. */
function completions(word: string, names: readonly string[]): readonly string[] {
  const letters = word.replace(/^-+/, "").length;
  const found = letters < MIN_PREFIX ? [] : names.filter((name) => name.startsWith(word));
  return found.length > MAX_NAMES ? [] : found;
}

function synonymsOf(all: Readonly<Record<string, readonly string[]>>, name: string): readonly string[] {
  return Object.hasOwn(all, name) ? (all[name] ?? []) : [];
}

function question(names: readonly string[]): string {
  const different = [...new Set(names)];
  return different.length === 0
    ? ""
    : `\n(Did you mean ${different.length === 1 ? "" : "one of "}${different.join(", ")}?)`;
}

/** Returns whether the help omits a command. Commander stores the flag without an accessor. */
export function isHidden(command: Command): boolean {
  return "_hidden" in command && command._hidden === true;
}
