import type { Command } from "commander";
import { didYouMean } from "../../runtime/error-messages.js";

const DESTRUCTIVE = new WeakSet<Command>();

/** Marks a command that destroys or stops something: no mistyped name suggests it. */
export function destructive(command: Command): Command {
  DESTRUCTIVE.add(command);
  return command;
}

/** The message for an unknown subcommand, with a suggestion that destroys nothing. */
export function unknownCommandText(command: Command): string {
  const [name = ""] = command.args;
  const safe = command.commands.filter((each) => !DESTRUCTIVE.has(each)).map((each) => each.name());
  const near = didYouMean(name, safe);
  return `error: unknown command '${name}'${near === undefined ? "" : `\n(Did you mean ${near}?)`}`;
}
