import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const LINK = /\[[^\]]*\]\(([^)\s]+)\)/g;

interface Page {
  readonly path: string;
  readonly text: string;
}

async function readPages(): Promise<readonly Page[]> {
  const inDocs = (await readdir(join(ROOT, "docs"), { recursive: true })).map((path) => `docs/${path}`);
  const atRoot = await readdir(ROOT);
  const paths = [...atRoot, ...inDocs].filter((path) => path.endsWith(".md"));
  return Promise.all(paths.map(async (path) => ({ path, text: await readFile(join(ROOT, path), "utf8") })));
}

/** Returns a page's text without its blocks and spans of code, in which brackets are no links. */
function withoutCode(text: string): string {
  return text
    .replace(/^```.*?^```/gms, "")
    .replace(/^ {4}.*$/gm, "")
    .replace(/`[^`\n]*`/g, "`");
}

/** Returns the anchors of a page's headings, as GitHub derives them. */
function anchorsOf(text: string): ReadonlySet<string> {
  const counts = new Map<string, number>();
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.replace(/^```.*?^```/gms, "").matchAll(/^#{1,6} +(.+)$/gm)) {
    const slug = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    anchors.add(count === 0 ? slug : `${slug}-${count}`);
  }
  for (const [, id = ""] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) {
    anchors.add(id);
  }
  return anchors;
}

const pages = await readPages();

describe("links of the docs", () => {
  it.each(pages)("$path links only to files and headings that exist", ({ path, text }) => {
    const broken: string[] = [];
    for (const [, target = ""] of withoutCode(text).matchAll(LINK)) {
      if (/^[a-z]+:/.test(target)) {
        continue;
      }
      const [file = "", anchor] = target.split("#");
      const linked = file === "" ? path : join(dirname(path), file);
      if (!existsSync(join(ROOT, linked))) {
        broken.push(target);
      } else if (anchor !== undefined && linked.endsWith(".md")) {
        const page = pages.find((each) => each.path === linked);
        if (page !== undefined && !anchorsOf(page.text).has(anchor)) {
          broken.push(target);
        }
      }
    }
    expect(broken).toEqual([]);
  });
});

describe("the landing page", () => {
  it("links to every page of docs, or to the page that lists it", () => {
    const textOf = (page: string): string => pages.find(({ path }) => path === page)?.text ?? "";
    const landing = textOf("docs/README.md");
    const incidents = textOf("docs/tutorials/incidents.md").replaceAll("](incidents/", "](tutorials/incidents/");
    const unlinked = pages
      .map(({ path }) => path)
      .filter((path) => path.startsWith("docs/") && path !== "docs/README.md" && !/specification\/\d/.test(path))
      .filter((path) => !`${landing}${incidents}`.includes(`](${path.slice("docs/".length)})`));
    expect(unlinked).toEqual([]);
  });
});
