import { mkdtemp, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { linkCloudsFile } from "../../../../src/cli/cluster/up-started.js";

let folder: string;
const link = () => linkCloudsFile(folder, join(folder, ".compute-cluster", "clouds.yaml"));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "compute-agent-link-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("clouds.yaml becomes a link to the cluster's, and stays a link", async () => {
  expect([await link(), await link()]).toEqual([true, true]);
  expect(await readlink(join(folder, "clouds.yaml"))).toBe(".compute-cluster/clouds.yaml");
});

test("another clouds.yaml is not changed", async () => {
  await writeFile(join(folder, "clouds.yaml"), "clouds: {}\n");
  expect(await link()).toBe(false);
  expect(await readFile(join(folder, "clouds.yaml"), "utf8")).toBe("clouds: {}\n");
});

test("a folder without write access gets no clouds.yaml", async () => {
  expect(await linkCloudsFile(join(folder, "none"), join(folder, "clouds.yaml"))).toBe(false);
});
