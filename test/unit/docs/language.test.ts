import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { longSentencesIn, pagePaths, proseOf, retiredWordsIn } from "../../fixtures/prose.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

interface Debt {
  readonly retired: number;
  readonly long: number;
}

/** Pages that are not rewritten yet, with the numbers of their findings. A number may only fall, and then falls here. */
const SPECIFICATION: Readonly<Record<string, Debt>> = {
  "1-records": { retired: 16, long: 2 },
  "10-differences": { retired: 3, long: 0 },
  "2-start-up": { retired: 32, long: 8 },
  "3-evacuated-guests": { retired: 12, long: 1 },
  "4-resource-tracker": { retired: 16, long: 8 },
  "5-placement-client": { retired: 9, long: 4 },
  "6-operations": { retired: 51, long: 14 },
  "7-healing": { retired: 13, long: 0 },
  "8-drivers": { retired: 57, long: 10 },
  "9-invariants": { retired: 13, long: 6 },
  README: { retired: 1, long: 0 },
};

const pages = await Promise.all(
  (await pagePaths(ROOT)).map(async (path) => {
    const text = await readFile(join(ROOT, path), "utf8");
    const allowed = SPECIFICATION[/specification\/(.*)\.md$/.exec(path)?.[1] ?? ""] ?? { retired: 0, long: 0 };
    return { path, text, prose: proseOf(text), allowed };
  }),
);

/** Returns the number of findings, or the findings where none are allowed. */
const counted = (found: readonly string[], allowed: number) => (allowed === 0 ? found : found.length);

describe("the language of README and docs", () => {
  it.each(pages)("$path has no retired word", ({ prose, allowed: { retired } }) => {
    expect(counted(retiredWordsIn(prose), retired)).toEqual(retired === 0 ? [] : retired);
  });

  it.each(pages)("$path has no sentence over 25 words", ({ prose, allowed: { long } }) => {
    expect(counted(longSentencesIn(prose), long)).toEqual(long === 0 ? [] : long);
  });

  it.each(pages.filter(({ path }) => path.startsWith("docs/")))("$path names its readers first", ({ text }) => {
    const [, first = ""] = text.replaceAll(/<!--.*?-->/gs, "").split(/\n+/);
    expect(first).toMatch(/^For /);
  });

  it.each(pages)("$path has titles as labels of its links", ({ prose }) => {
    expect(prose.match(/\[[\w./-]+\.md\]/g) ?? []).toEqual([]);
  });
});
