import type { Command } from "commander";

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
