import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PAGES = "docs/reference/specification";

async function readFilesIn(folder: string, endings: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)));
  const paths = files.map((entry) => join(entry.parentPath, entry.name));
  const contents = await Promise.all(paths.map(async (path) => [path, await readFile(path, "utf8")] as const));
  return new Map(contents);
}

/** Returns everything that can be cited: sections, numbered rows, and named rows: `6.3`, `6.3 4`, `V20`, `G5`. */
function definitions(pages: Iterable<string>): ReadonlySet<string> {
  const found = new Set<string>();
  for (const page of pages) {
    for (const part of page.split("## Code and tests")[0]?.split(/^#+ (?=\d)/m) ?? []) {
      const section = /^\d+(\.\d+)?/.exec(part)?.[0];
      if (section === undefined) {
        continue;
      }
      found.add(section);
      for (const [, row] of part.matchAll(/^(?:\| |)(\d+[a-z']?)(?: \||\. )/gm)) {
        found.add(`${section} ${row}`);
      }
      for (const [name] of part.matchAll(/(?<=^\| )(?:V\d+|G\d+|OA-\d+)\b|\bGAP-[a-z]\b/gm)) {
        found.add(name);
      }
    }
  }
  return found;
}

const SECTION = String.raw`(?<![\w.])([1-9]\.\d{1,2})(?![.\d]| %)`;
const LIST = String.raw`\d+[a-f]?(?:(?:-|, | and )\d+[a-f]?(?![.\w]))*`;
const ROWS = new RegExp(`${SECTION},? (?:rows?|steps?|duty|duties) (${LIST})`, "g");
const NAMED = new RegExp(String.raw`\bspec ${SECTION}`, "g");
const NAMES = /(?<![\w-])(?:V(?:[1-9]|[1-9]\d)|G(?:[1-9]|1\d)|OA-\d+|GAP-[a-z])(?![\w-])/g;

function citations(text: string): readonly string[] {
  return [
    ...[...text.matchAll(NAMED)].map(([, section = ""]) => section),
    ...[...text.matchAll(ROWS)].flatMap(([, section = "", list = ""]) =>
      rowsIn(list).map((row) => `${section} ${row}`),
    ),
    ...[...text.matchAll(NAMES)].map(([name]) => name),
  ];
}

/** `2, 4-6 and 9` → 2, 4, 5, 6, 9. */
function rowsIn(list: string): readonly string[] {
  return list.split(/, | and /).flatMap((item) => {
    const [, from, to] = /^(\d+)-(\d+)$/.exec(item) ?? [];
    if (from === undefined) {
      return item.split("-");
    }
    return Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => String(Number(from) + index));
  });
}

describe("citations of the specification", () => {
  it("are found on its pages", async () => {
    const defined = definitions((await readFilesIn(PAGES, [".md"])).values());
    expect(defined.size).toBeGreaterThan(300);
    const places = await Promise.all(
      ["src", "drivers", "test", "docs"].map((folder) => readFilesIn(folder, [".ts", ".md"])),
    );
    const cited = places.flatMap((fileContents) =>
      [...fileContents]
        .filter(([path]) => !/specification(-citations)?\.test\.ts$/.test(path))
        .flatMap(([path, text]) => citations(text).map((citation) => ({ citation, file: path.slice(ROOT.length) }))),
    );
    expect(cited.length).toBeGreaterThan(1000);
    expect(cited.filter(({ citation }) => !defined.has(citation))).toEqual([]);
  });

  it.each([
    ["spec 6.3 row 4", ["6.3", "6.3 4"]],
    ["(6.7 rows 2a, 2b)", ["6.7 2a", "6.7 2b"]],
    ["2.6 rows 1-3 and 7", ["2.6 1", "2.6 2", "2.6 3", "2.6 7"]],
    ["V20, G5 and OA-3", ["V20", "G5", "OA-3"]],
    ["Placement 1.28 is at spec 5.5", ["5.5"]],
  ])("reads %s", (text, cited) => {
    expect(citations(text)).toEqual(cited);
  });

  it("notices a row that no page has", () => {
    const defined = definitions(["# 6 Flows\n\n## 6.3 Moves\n\n| # | what |\n|---|---|\n| 4 | prep |\n"]);
    expect([...defined]).toEqual(["6", "6.3", "6.3 4"]);
  });
});
