import { appendFile, copyFile, mkdtemp, rename, rm, truncate, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { LogFile, logStems } from "../../../../../src/cli/cluster/logs/log-source.js";

let folder: string;
const at = (name: string) => join(folder, name);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "compute-agent-log-"));
});
afterEach(() => rm(folder, { recursive: true }));

async function newLines(file: LogFile): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const some of file.newLines()) {
    lines.push(...some);
  }
  return lines;
}

it("begins with rotated files, oldest first, and continues with complete lines", async () => {
  const file = new LogFile(folder, "h1");
  expect(await newLines(file)).toEqual([]);
  await writeFile(at("h1.log.2"), "1\n");
  await writeFile(at("h1.log.1"), "2\n");
  await utimes(at("h1.log.2"), 1, 1);
  await utimes(at("h1.log.1"), 2, 2);
  await writeFile(at("h1.log.3.gz"), "compressed\n");
  await writeFile(at("h1.log.log"), "of host h1.log\n");
  await writeFile(at("h1.log"), "3\nhalf");
  const existingFile = new LogFile(folder, "h1");
  expect(await newLines(existingFile)).toEqual(["1", "2", "3"]);
  await appendFile(at("h1.log"), " a line\n");
  expect(await newLines(existingFile)).toEqual(["half a line"]);
  expect(await newLines(existingFile)).toEqual([]);
  // The log was created after the first read, so only the current file is new, not the rotated one.
  expect(await newLines(file)).toEqual(["3", "half a line"]);
});

it("follows files that are renamed, created again, truncated, or deleted", async () => {
  await writeFile(at("h1.log"), "1\n");
  const file = new LogFile(folder, "h1");
  expect(await newLines(file)).toEqual(["1"]);
  await rename(at("h1.log"), at("h1.log.1"));
  await appendFile(at("h1.log.1"), "2\n");
  expect(await newLines(file)).toEqual(["2"]);
  await appendFile(at("h1.log.1"), "3\n");
  await writeFile(at("h1.log"), "4\n");
  expect(await newLines(file)).toEqual(["3", "4"]);
  await copyFile(at("h1.log"), at("h1.log.2"));
  await truncate(at("h1.log"));
  expect(await newLines(file)).toEqual([]);
  await appendFile(at("h1.log"), "5\n");
  expect(await newLines(file)).toEqual(["5"]);
  await rm(at("h1.log"));
  expect(await newLines(file)).toEqual([]);
});

it("reads lines of any length, and characters split between two chunks", async () => {
  const long = "ä".repeat(100_000);
  await writeFile(at("h1.log"), `${long}\nshort\n${"x".repeat(3_000_000)}`);
  const [first, second, ...rest] = await newLines(new LogFile(folder, "h1"));
  expect(first === long).toBe(true);
  expect(second).toBe("short");
  expect(rest.join("").length).toBeGreaterThan(1_000_000);
});

it("the logs of a folder are listed by their stems", async () => {
  for (const name of ["h1.log", "h1.log.1", "h2.log-20261125", "a.b.log", "notes.txt"]) {
    await writeFile(at(name), "");
  }
  expect(await logStems(folder)).toEqual(["a.b", "h1", "h2"]);
  expect(await logStems(at("none"))).toEqual([]);
});
