import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ReusableEntries } from "../../../../src/runtime/node/file-tree.js";

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "spare-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

it("a removed entry is reused, empty, also by a later instance", async () => {
  await writeFile(join(root, "file"), "text");
  await mkdir(join(root, "folder"));
  const reusableEntries = new ReusableEntries(join(root, "spare"));
  reusableEntries.take(join(root, "file"), "file");
  reusableEntries.take(join(root, "folder"), "folder");
  reusableEntries.take(join(root, "nothing"), "file");
  expect(await readdir(root)).toEqual(["spare"]);
  const later = new ReusableEntries(join(root, "spare"));
  expect((await stat(later.file() ?? "")).size).toBe(0);
  expect(later.file()).toBeUndefined();
  later.putFolder(join(root, "again"));
  later.putFolder(join(root, "none left"));
  expect((await readdir(root)).toSorted()).toEqual(["again", "spare"]);
});

it("a folder with entries is removed, and not reused", async () => {
  await mkdir(join(root, "folder/deep"), { recursive: true });
  await writeFile(join(root, "folder/deep/file"), "text");
  const reusableEntries = new ReusableEntries(join(root, "spare"));
  reusableEntries.take(join(root, "folder"), "folder");
  expect(await readdir(root)).toEqual(["spare"]);
  expect(await readdir(join(root, "spare/folder"))).toEqual([]);
});
