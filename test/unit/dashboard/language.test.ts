import { expect, it } from "vitest";
import { messagesIn } from "../../fixtures/messages.js";
import { retiredWordsIn } from "../../fixtures/prose.js";

/** Class names, which look like texts. */
const KNOWN: ReadonlySet<string> = new Set(["answer X"]);

it("the texts of the dashboard and of its actions have no retired word", async () => {
  const messages = [...(await messagesIn("src/dashboard", 2)), ...(await messagesIn("src/cli/cluster/dashboard", 2))];
  const found = messages
    .map(([path, text]) => [path, text.trim().replaceAll(/\s+/g, " ")] as const)
    .filter(([, text]) => retiredWordsIn(text).length > 0 && !KNOWN.has(text));
  expect(found).toEqual([]);
});
