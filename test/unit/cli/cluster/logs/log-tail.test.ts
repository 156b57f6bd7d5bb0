import { appendFile, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { LogFile } from "../../../../../src/cli/cluster/logs/log-source.js";
import { openLogTails } from "../../../../../src/cli/cluster/logs/log-tail.js";
import { stateDir } from "../../../../../src/control-plane/local/state-dir.js";
import type { LogTail } from "../../../../../src/dashboard/log-stream.js";
import type { LogFilter } from "../../../../../src/dashboard/wire/logs.js";
import { NodeFiles } from "../../../../../src/runtime/node/node-files.js";

const ALL: LogFilter = { host: "", level: "", request: "", text: "" };

let root: string;
let logs: string;
const tails: LogTail[] = [];

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "compute-agent-tail-"));
  const directory = stateDir(root, "/");
  logs = directory.logs;
  await mkdir(logs);
  for (const host of ["h1", "h2"]) {
    await mkdir(directory.agent(host), { recursive: true });
  }
});
afterEach(async () => {
  for (const tail of tails.splice(0)) {
    tail.close();
  }
  await rm(root, { recursive: true });
});

async function open(filter: Partial<LogFilter> = {}): Promise<LogTail> {
  const tail = await openLogTails({ directory: stateDir(root, "/"), files: new NodeFiles() })({ ...ALL, ...filter });
  tails.push(tail);
  return tail;
}

/** An entry at this second of an hour. */
function line(second: number, text: string, level = "INFO"): string {
  const time = new Date(Date.UTC(2026, 10, 25, 10, 0, second)).toISOString().slice(11, 19);
  return `2026-11-25 ${time}.000 1 ${level} ${text}\n`;
}

const write = (stem: string, ...lines: string[]) => writeFile(join(logs, `${stem}.log`), lines.join(""));

async function messages(tail: LogTail): Promise<readonly string[]> {
  return (await tail.last()).rows.map(({ source, message }) => `${source}: ${message}`);
}

it("returns the last entries of all logs by time, with level, ids, fields and further lines", async () => {
  await write("h1", line(1, "one"), line(3, "[req-1] [instance: abc] three host=h1 ms=4", "ERROR"), "  at a\n  at b\n");
  await write("h2", line(2, "two"));
  await write("up", line(0, "the start"));
  const tail = await open();
  const { rows, isComplete } = await tail.last();
  expect([rows.map(({ source, message }) => [source, message]), isComplete]).toEqual([
    [
      ["h1", "one"],
      ["h2", "two"],
      ["h1", "three"],
    ],
    true,
  ]);
  expect(rows[2]).toMatchObject({
    level: "ERROR",
    requestId: "req-1",
    instance: "abc",
    fields: ["host=h1", "ms=4"],
    more: ["  at a", "  at b"],
  });
  expect(tail.names).toEqual(expect.arrayContaining(["control-plane", "placement", "h1", "h2"]));
});

it("filters by host, level, request id and text", async () => {
  await write("h1", line(1, "[req-1] Boot failed", "ERROR"), line(2, "[req-2] booted"), line(3, "slow", "WARNING"));
  await write("pool-1", line(4, "of h2 host=h2"), line(5, "of h1 host=h1"));
  await write("control-plane", line(6, "[req-1] request service=placement"));
  expect(await messages(await open({ host: "h2" }))).toEqual(["h2: of h2"]);
  expect(await messages(await open({ host: "placement" }))).toEqual(["placement: request"]);
  expect(await messages(await open({ level: "WARNING" }))).toEqual(["h1: Boot failed", "h1: slow"]);
  expect(await messages(await open({ request: "req-1" }))).toEqual(["h1: Boot failed", "control-plane: request"]);
  expect(await messages(await open({ text: "bOOT" }))).toEqual(["h1: Boot failed", "h1: booted"]);
  expect(await messages(await open({ host: "h1", level: "ERROR", text: "of" }))).toEqual([]);
});

it("says why a host has no entries", async () => {
  await write("h1", line(1, "one"));
  expect((await open({ host: "h2" })).problem).toBe(
    "h2 has no log here: its agent was started elsewhere, and logs there",
  );
  expect((await open({ host: "nobody" })).problem).toMatch(/^there is no host nobody in .*; there are h\[1-2\]$/);
});

it("returns added entries once, those of new and rotated logs as well", async () => {
  await write("h1", line(1, "one"), "an unfinished li");
  const tail = await open();
  expect(await messages(tail)).toEqual(["h1: one"]);
  expect(await tail.added()).toEqual({ rows: [], dropped: 0 });
  const added = async () => {
    const found: string[] = [];
    await expect
      .poll(async () => {
        found.push(...(await tail.added()).rows.map(({ source, message }) => `${source}: ${message}`));
        return found.length;
      })
      .toBeGreaterThan(0);
    return found;
  };
  await appendFile(join(logs, "h1.log"), `ne\n${line(2, "two")}`);
  expect(await added()).toEqual(["h1: two"]);
  await rename(join(logs, "h1.log"), join(logs, "h1.log.1"));
  await write("h1", line(3, "three"));
  expect(await added()).toEqual(["h1: three"]);
  await write("h3", line(4, "four"));
  expect(await added()).toEqual(["h3: four"]);
});

it("finds a few entries among a hundred thousand, and limits what it returns", async () => {
  const rare = (at: number) => at % 30_000 === 7;
  const many = Array.from({ length: 100_000 }, (_, at) =>
    line(Math.floor(at / 50), rare(at) ? `rare ${at}` : `usual ${at}`),
  );
  await write("h1", ...many);
  expect((await (await open({ text: "rare" })).last()).rows.map(({ message }) => message)).toEqual([
    "rare 7",
    "rare 30007",
    "rare 60007",
    "rare 90007",
  ]);
  const tail = await open();
  const { rows, searchedBytes, isComplete } = await tail.last();
  expect([rows.length, rows.at(-1)?.message, isComplete]).toEqual([1_000, "usual 99999", false]);
  expect(searchedBytes).toBeLessThan(300_000);
  await appendFile(join(logs, "h1.log"), many.slice(0, 2_000).join(""));
  await expect.poll(() => tail.added()).toMatchObject({ rows: { length: 500 }, dropped: 1_500 });
});

it.each([1, 15_000, 16_383, 16_384, 16_385, 300_000])("reads lines of %i characters backward", async (length) => {
  const lines = Array.from({ length: 5 }, (_, at) => `${at}${"x".repeat(length)}`);
  await writeFile(join(logs, "h1.log"), `${lines.join("\n")}\nunfinished`);
  const file = new LogFile(logs, "h1");
  const chunks: (readonly string[])[] = [];
  for await (const chunk of file.linesBackward()) {
    chunks.unshift(chunk);
  }
  expect(chunks.flat()).toEqual(lines);
  await appendFile(join(logs, "h1.log"), " no more\n");
  const added: string[] = [];
  for await (const chunk of file.newLines()) {
    added.push(...chunk);
  }
  expect(added).toEqual(["unfinished no more"]);
});
