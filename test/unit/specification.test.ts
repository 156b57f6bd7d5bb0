import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PAGES = "docs/reference/specification";

interface Row {
  readonly ids: readonly string[];
  readonly files: readonly string[];
}

/** `2.3 rows 1-3, 5` → `2.3 row 1`, …; `2.4 G1-G3`; `3.5 noop, log`; `V1, V2`; `2.7`. */
function idsIn(text: string): readonly string[] {
  const [, section = "", rest = ""] = /^(\d+\.\d+)?\s*(.*)$/.exec(text) ?? [];
  const [, unit, list] = /^(row|step)s? (\d.*)$/.exec(rest) ?? /^(dut(?:y|ies)) (\d.*)$/.exec(rest) ?? ["", "", rest];
  const items = (list ?? "").split(/,\s*/).filter((item) => item !== "");
  if (items.length === 0) {
    return [section];
  }
  const word = unit?.startsWith("dut") ? "duty" : unit;
  return items.flatMap(expand).map((item) => [section, word, item].filter(Boolean).join(" "));
}

function expand(item: string): readonly string[] {
  const [, letter = "", from, to] = /^([A-Z]?)(\d+)-\1(\d+)$/.exec(item) ?? [];
  if (from === undefined || to === undefined) {
    return [item];
  }
  return Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => `${letter}${Number(from) + index}`);
}

async function pages(): Promise<readonly string[]> {
  const names = await readdir(join(ROOT, PAGES));
  return Promise.all(names.map((name) => readFile(join(ROOT, PAGES, name), "utf8")));
}

/** Returns the rows of the tables "Code and tests" in all pages. */
async function rows(): Promise<readonly Row[]> {
  const tables = (await pages()).map((page) => page.split("## Code and tests")[1] ?? "").join("\n");
  return [...tables.matchAll(/^\| ([^|]+) \|[^|]+\|([^|]+)\|([^|]+)\|$/gm)]
    .filter(([, first = ""]) => first !== "rows")
    .map(([, first = "", code = "", tests = ""]) => ({
      ids: idsIn(first),
      files: [...paths(code, "src"), ...paths(tests, "test")],
    }));
}

function paths(cell: string, folder: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, path = ""]) =>
    path.startsWith("drivers/") ? path : join(folder, path),
  );
}

/** Returns every string in tests that begins like a title with a row id, with `rows 1, 2` expanded. */
async function titles(): Promise<readonly string[]> {
  const entries = await readdir(join(ROOT, "test"), { recursive: true, withFileTypes: true });
  const files = entries.filter(
    (entry) => entry.isFile() && entry.name.endsWith(".test.ts") && entry.name !== "specification.test.ts",
  );
  const contents = await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), "utf8")));
  return contents
    .flatMap((text) => [...text.matchAll(/["`]((?:\d\.\d+|V\d+|9\.4)\b[^"`\n]*)["`]/g)])
    .map(([, title = ""]) => written(title));
}

const LISTS = /(\d\.\d+) (rows|steps|duties) (\d+(?:-\d+)?(?:, \d+(?:-\d+)?(?![\d.]))*)/g;

function written(title: string): string {
  return title.replace(LISTS, (_, section, unit, list) => idsIn(`${section} ${unit} ${list}`).join(", "));
}

function named(id: string, all: readonly string[]): boolean {
  const pattern = new RegExp(`(^|[\\s(,])${id.replaceAll(".", "\\.")}(?![\\w.]*\\d|[a-z])`);
  return all.some((title) => pattern.test(title));
}

describe(PAGES, () => {
  it("names files that exist", async () => {
    const files = [...new Set((await rows()).flatMap((row) => row.files))];
    expect(files.length).toBeGreaterThan(60);
    const missing = await Promise.all(
      files.map((file) =>
        stat(join(ROOT, file)).then(
          () => [],
          () => [file],
        ),
      ),
    );
    expect(missing.flat()).toEqual([]);
  });

  it("has a test for each of its rows, that says so in its name", async () => {
    const all = await titles();
    const ids = (await rows()).flatMap((row) => row.ids);
    expect(ids.length).toBeGreaterThan(140);
    expect(ids.filter((id) => !named(id, all))).toEqual([]);
  });

  it.each([
    ["2.7", ["2.7"]],
    ["2.3 rows 1-3", ["2.3 row 1", "2.3 row 2", "2.3 row 3"]],
    ["2.4 G1-G2", ["2.4 G1", "2.4 G2"]],
    ["4.3 steps 1, 3", ["4.3 step 1", "4.3 step 3"]],
    ["8.7 duties 1-2", ["8.7 duty 1", "8.7 duty 2"]],
    ["3.5 noop, log", ["3.5 noop", "3.5 log"]],
    ["V1, V2", ["V1", "V2"]],
  ])("reads %s", (text, ids) => {
    expect(idsIn(text)).toEqual(ids);
  });

  it("notices a row without a test", () => {
    expect(named("2.4 G1", ["2.4 G12 something"])).toBe(false);
    expect(named("4.6 row 1", ["4.6 row 12", "4.6 rows"])).toBe(false);
    expect(named("2.6 row 2", [written("2.6 rows 1, 2: nothing")])).toBe(true);
  });
});
