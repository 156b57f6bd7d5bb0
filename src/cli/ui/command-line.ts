import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Command, InvalidArgumentError } from "commander";
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

/** The options that a command makes of these arguments. @param commandOf makes the command, which calls `action` with them */
export async function parsedOptions<T>(
  commandOf: (action: (options: T) => Promise<void>) => Command,
  args: readonly string[],
): Promise<T> {
  let options: T | undefined;
  const command = commandOf(async (parsed) => {
    options = parsed;
  });
  await command.parseAsync([...args], { from: "user" });
  if (options === undefined) {
    throw new Error(`${command.name()} does nothing with ${args.join(" ")}`);
  }
  return options;
}

/** A TCP port of the command line; 0 is any free one. */
export function portNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535) {
    throw new InvalidArgumentError("expected a port, 0 to 65535.");
  }
  return value;
}

/** The folder of this package: the nearest one above that has a README, whether this is the source or what was built of it. */
export function packageFolder(): string {
  let folder = new URL(".", import.meta.url);
  while (!existsSync(new URL("README.md", folder)) && folder.pathname !== "/") {
    folder = new URL("../", folder);
  }
  return fileURLToPath(folder);
}

/** The version of this package. */
export function version(): string {
  const text = readFileSync(join(packageFolder(), "package.json"), "utf8");
  return String((JSON.parse(text) as { version?: unknown }).version);
}

/** `name=value`, as given to a repeatable option. */
export type Pair = readonly [name: string, value: string];

/** A parser for commander that collects `name=value`; `what` names what was expected, in the message to the user. */
export function pair(what: string) {
  return (text: string, before: readonly Pair[] = []): readonly Pair[] => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) {
      throw new InvalidArgumentError(`expected ${what}.`);
    }
    return [...before, [name, value]];
  };
}
