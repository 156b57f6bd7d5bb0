import type { Argument, HelpConfiguration, Option } from "commander";

/** The format of the help of all commands. Subcommands inherit it. */
export const HELP_FORMAT: HelpConfiguration = {
  // Options of up are long, and leave less than commander's minimum of 40 columns.
  minWidthToWrap: 20,
  optionDescription: describe,
  argumentDescription: describe,
  subcommandTerm: (command) => {
    const args = command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
      return argument.required ? ` <${name}>` : ` [${name}]`;
    });
    return [command.name(), ...command.aliases().slice(0, 1)].join("|") + args.join("");
  },
};

/** Returns the help of an option or argument, its values and its default. An empty list as default is omitted. */
function describe({ description, argChoices, defaultValue, defaultValueDescription }: Option | Argument): string {
  const hasDefault = defaultValue !== undefined && typeof defaultValue !== "boolean" && !isEmptyList(defaultValue);
  const notes = [
    ...(argChoices === undefined ? [] : [`one of ${argChoices.join(", ")}`]),
    ...(hasDefault ? [`default: ${defaultValueDescription ?? String(defaultValue)}`] : []),
  ];
  return `${description}${notes.length === 0 ? "" : ` (${notes.join("; ")})`}`.trim();
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Returns the exit codes of a command for the end of its help; commander does not wrap that text. */
export function exitCodeHelp(codes: Readonly<Record<number, string>>): string {
  return ["", "Exit codes:", ...Object.entries(codes).map(([code, meaning]) => `  ${code}  ${meaning}`)].join("\n");
}
