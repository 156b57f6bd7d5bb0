import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { agentCommand } from "../../../src/cli/agent/options.js";
import { addCommands } from "../../../src/cli/commands.js";
import { NOVA_OPTIONS } from "../../../src/config/nova-config.js";
import { QUIRKS } from "../../../src/config/quirks.js";
import { messagesIn } from "../../fixtures/messages.js";
import { longSentencesIn, retiredWordsIn } from "../../fixtures/prose.js";

/** The texts of these are the dashboard's. */
const DASHBOARD_ACTIONS = "src/cli/cluster/dashboard/";

function commandsBelow(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(commandsBelow)];
}

/** Returns each text of the help, with the command that it belongs to. */
async function helpMessages(): Promise<readonly (readonly [source: string, text: string])[]> {
  const program = await addCommands(new Command("compute-agent"), undefined);
  const commands = [agentCommand(async () => undefined), ...commandsBelow(program)];
  return commands.flatMap((command) => {
    const parts = [command.summary(), command.description()];
    const options = command.options.map(({ description }) => description);
    const args = command.registeredArguments.map(({ description }) => description);
    return [...parts, ...options, ...args].map(
      (text) => [command.name(), text.replaceAll(/`[^`]*`/g, "CODE")] as const,
    );
  });
}

describe("the language of the command line", () => {
  it("has no retired word and no long sentence in the help", async () => {
    const found = (await helpMessages()).flatMap(([source, text]) =>
      [...retiredWordsIn(text), ...longSentencesIn(text)].map((each) => `${source}: ${each}`),
    );
    expect(found).toEqual([]);
  });

  it("has no retired word and no long sentence in the help of options of nova.conf and of quirks", () => {
    const options = Object.entries(NOVA_OPTIONS).flatMap(([section, table]) =>
      Object.entries(table).map(
        ([name, { help, type }]) => [`${section}.${name}`, `${help}\n\n${type.expected}`] as const,
      ),
    );
    const quirks = Object.entries(QUIRKS).map(([name, quirk]) => [name, quirk.meaning] as const);
    const found = [...options, ...quirks].flatMap(([name, text]) =>
      [...retiredWordsIn(text), ...longSentencesIn(text)].map((each) => `${name}: ${each}`),
    );
    expect(found).toEqual([]);
  });

  it.each(["src/cli", "src/cluster", "src/config", "src/audit", "src/faults", "src/testing", "src/placement-client"])(
    "has no retired word in messages of %s",
    async (folder) => {
      const messages = (await messagesIn(folder)).filter(([path]) => !path.startsWith(DASHBOARD_ACTIONS));
      const found = messages.flatMap(([path, text]) =>
        retiredWordsIn(text).map((word) => `${path}: ${word}: ${text.slice(0, 160)}`),
      );
      expect(found).toEqual([]);
    },
  );
});
