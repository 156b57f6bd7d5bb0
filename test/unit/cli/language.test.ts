import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { agentCommand } from "../../../src/cli/agent/options.js";
import { addCommands } from "../../../src/cli/commands.js";
import { NOVA_OPTIONS } from "../../../src/config/nova-config.js";
import { QUIRKS } from "../../../src/config/quirks.js";
import { longSentencesIn, retiredWordsIn } from "../../fixtures/prose.js";
import { childrenOf, parse, type SyntaxNode } from "../../mutants/syntax.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Messages have at least this number of words; shorter strings are keys, names and paths. */
const MIN_WORDS = 3;

/** Strings that are scripts of worker threads. */
const CODE = /^\s*(const|let|import) /;

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

function* stringsIn(node: SyntaxNode): Generator<string> {
  if (node.type === "Literal" && typeof node.value === "string") {
    yield node.value;
  }
  if (node.type === "TemplateLiteral" && Array.isArray(node.quasis)) {
    const pieces = node.quasis as readonly { readonly value: { readonly cooked?: string } }[];
    yield pieces.map(({ value }) => value.cooked ?? "").join(" X ");
  }
  for (const child of childrenOf(node)) {
    yield* stringsIn(child);
  }
}

/** Returns the messages in the sources of a folder, each with its file. */
async function messagesIn(folder: string): Promise<readonly (readonly [source: string, text: string])[]> {
  const names = (await readdir(join(ROOT, folder), { recursive: true })).filter((name) => /\.tsx?$/.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      const path = `${folder}/${name}`;
      const strings = [...stringsIn(parse(path, await readFile(join(ROOT, path), "utf8")).program)];
      const messages = strings.filter((text) => text.trim().split(/\s+/).length >= MIN_WORDS && !CODE.test(text));
      return messages.map((text) => [path, text] as const);
    }),
  );
  return found.flat();
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

  it.each(["src/cli", "src/cluster", "src/config", "src/audit"])(
    "has no retired word in messages of %s",
    async (folder) => {
      const messages = (await messagesIn(folder)).filter(([path]) => !path.startsWith("src/cli/cluster/dashboard/"));
      const found = messages.flatMap(([path, text]) =>
        retiredWordsIn(text).map((word) => `${path}: ${word}: ${text.slice(0, 160)}`),
      );
      expect(found).toEqual([]);
    },
  );
});
