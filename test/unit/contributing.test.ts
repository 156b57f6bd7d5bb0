import { access, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const page = () => readFile(`${ROOT}CONTRIBUTING.md`, "utf8");

/** A path of the repository, up to its first placeholder (`<record>`). */
const PATH = /`((?:src|drivers|test|docs|config)\/[^`\s<]*)(?:<[^`]*)?`/g;

async function exists(path: string): Promise<boolean> {
  return access(`${ROOT}${path}`).then(
    () => true,
    () => false,
  );
}

describe("CONTRIBUTING.md", () => {
  it("names files that exist", async () => {
    const paths = [...(await page()).matchAll(PATH)].map(([, path = ""]) => path);
    const missing = await Promise.all(paths.map(async (path) => ((await exists(path)) ? [] : [path])));
    expect(paths.length).toBeGreaterThan(25);
    expect(missing.flat()).toEqual([]);
  });

  it("names at most four places to touch for a change", async () => {
    const changes = (await page()).split("## Commands")[0]?.split("\n### ").slice(1) ?? [];
    const places = changes.map((change) => [change.split("\n")[0], change.match(/^- /gm)?.length ?? 0] as const);
    expect(places.length).toBeGreaterThanOrEqual(5);
    expect(places.filter(([, count]) => count < 1 || count > 4)).toEqual([]);
  });
});
