import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { requireClients } from "../peers/openstack-client/clients.js";
import { makePictures, TERMINAL } from "../pictures/pictures.js";
import { PACKAGE_ROOT } from "../process/support/program.js";
import { pageNames } from "./support/command-blocks.js";

const IMAGES = join(PACKAGE_ROOT, "docs/images");
const MAX_BYTES = 300_000;
const MAX_TERMINAL_BYTES = 100_000;
const PNG = Buffer.from("89504e470d0a1a0a", "hex");

/** Returns the lines that a recording displays. */
function linesOf(svg: string): readonly string[] {
  return [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, text = ""]) => text.replace(/<[^>]*>/g, ""));
}

/** Returns the lines without what differs each time: numbers, and the order in which hosts become ready. */
function comparable(lines: readonly string[]): readonly string[] {
  return lines.map((line) => line.replace(/\d+/g, "0").replace(/[ -]+/g, " ")).toSorted();
}

/** Returns the paths of all pictures that README and docs show. */
async function referencedPictures(): Promise<readonly string[]> {
  const pages = await pageNames(PACKAGE_ROOT);
  const contents = await Promise.all(
    pages.map(async (page) => [page, await readFile(join(PACKAGE_ROOT, page), "utf8")]),
  );
  return contents.flatMap(([page = "", text = ""]) =>
    [...text.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, path = ""]) => resolve(PACKAGE_ROOT, dirname(page), path)),
  );
}

describe("the pictures of README and docs", () => {
  it("exist, are small, and are all shown", async () => {
    const referenced = new Set(await referencedPictures());
    const images = (await readdir(IMAGES)).map((name) => join(IMAGES, name));
    expect([...referenced].toSorted()).toEqual(images.toSorted());
    for (const path of images) {
      const { size } = await stat(path);
      expect([path, size <= (basename(path) === TERMINAL ? MAX_TERMINAL_BYTES : MAX_BYTES)]).toEqual([path, true]);
    }
  });

  describe("as `npm run pictures` makes them", () => {
    let folder: string;
    beforeAll(async () => {
      requireClients();
      folder = await mkdtemp(join(tmpdir(), "compute-agent-pictures-"));
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));

    it("have the same names, and the recording the same commands and output", { timeout: 300_000 }, async () => {
      const names = await makePictures(folder);
      expect([...names].toSorted()).toEqual((await readdir(IMAGES)).toSorted());
      for (const name of names.filter((each) => each.endsWith(".png"))) {
        const content = await readFile(join(folder, name));
        expect([name, content.subarray(0, PNG.length), content.length <= MAX_BYTES]).toEqual([name, PNG, true]);
      }
      const [created, committed] = await Promise.all(
        [folder, IMAGES].map(async (place) => linesOf(await readFile(join(place, TERMINAL), "utf8"))),
      );
      expect(comparable(created ?? [])).toEqual(comparable(committed ?? []));
    });
  });
});
