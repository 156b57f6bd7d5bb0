import { expect, it } from "vitest";
import { messagesIn } from "../../fixtures/messages.js";
import { retiredWordsIn } from "../../fixtures/prose.js";

/** Texts that are not rewritten yet. The list may only become shorter. */
const KNOWN: ReadonlySet<string> = new Set([
  "Brings the cluster into a bad state, and says what to look at",
  "Finds allocations, providers and inventories that are wrong, and writes a plan that mends them",
  "Its bodies are no longer kept.",
  "None that can be shown.",
  "Nothing was asked of it yet.",
  "Nothing was asked since this view is open. Whatever clients and agents ask appears here.",
  "Saves the whole state; the cluster stands for that, for a second at most",
  "Says that the host is down, and has all its servers built anew on other hosts",
  "Says that the host is down, whatever its agent says",
  "Says what the start of its agent would destroy, and which allocations it would edit; does nothing",
  "The server does not answer.",
  "What it said",
  "answer X",
  "more are not shown: search for one by its id.",
  "the server answered X",
  "the server does not answer",
]);

it("the texts of the dashboard and of its actions have no retired word", async () => {
  const messages = [...(await messagesIn("src/dashboard", 2)), ...(await messagesIn("src/cli/cluster/dashboard", 2))];
  const found = messages
    .map(([path, text]) => [path, text.trim().replaceAll(/\s+/g, " ")] as const)
    .filter(([, text]) => retiredWordsIn(text).length > 0 && !KNOWN.has(text));
  expect(found).toEqual([]);
});
