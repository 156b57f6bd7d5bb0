import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Command, InvalidArgumentError } from "commander";
import { expandHosts, HostRangeError } from "../../records/host-names.js";

/** Parses arguments to a command's options. @param commandOf creates the command, which calls `action` with them */
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

/** Collects the values of a repeatable option. */
export const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/** Returns a parser for a whole number of this range. @param expected for the error message */
export function integerIn(min: number, max: number, expected = `${min} to ${max}`): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`expected ${expected}.`);
    }
    return value;
  };
}

/** Parses a TCP port; 0 is any free port. */
export const portNumber = integerIn(0, 65_535, "a port, 0 to 65535");

/** Parses one argument to host names, for `Command.argument`. */
export function collectHosts(text: string, before: readonly string[] = []): readonly string[] {
  try {
    return [...before, ...expandHosts(text)];
  } catch (error) {
    throw error instanceof HostRangeError ? new InvalidArgumentError(`${error.message}.`) : error;
  }
}

/** Returns the folder of this package: the nearest parent with a README, in the source or in the build. */
export function packageFolder(): string {
  let folder = new URL(".", import.meta.url);
  while (!existsSync(new URL("README.md", folder)) && folder.pathname !== "/") {
    folder = new URL("../", folder);
  }
  return fileURLToPath(folder);
}

/** Returns the version of this package. */
export function version(): string {
  const text = readFileSync(join(packageFolder(), "package.json"), "utf8");
  return String((JSON.parse(text) as { version?: unknown }).version);
}

/** `name=value`, the value of a repeatable option. */
export type Pair = readonly [name: string, value: string];

/** Returns a parser for commander that collects `name=value`. @param what the expected value, for the error message */
export function pair(what: string) {
  return (text: string, before: readonly Pair[] = []): readonly Pair[] => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) {
      throw new InvalidArgumentError(`expected ${what}.`);
    }
    return [...before, [name, value]];
  };
}
