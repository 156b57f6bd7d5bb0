import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { findSources } from "../../../../../src/cli/cluster/logs/find-sources.js";
import { merged } from "../../../../../src/cli/cluster/logs/log-source.js";
import { stateDir } from "../../../../../src/control-plane/local/state-dir.js";
import { NodeFiles } from "../../../../../src/runtime/node/node-files.js";

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "compute-agent-logs-"));
  const directory = stateDir(root, "/");
  for (const host of ["h1", "h2", "h3"]) {
    await mkdir(directory.agent(host), { recursive: true });
  }
  await mkdir(directory.logs);
  const write = (stem: string, ...messages: string[]) =>
    writeFile(
      join(directory.logs, `${stem}.log`),
      messages.map((text, at) => `2026-11-25 10:00:0${at}.000 1 INFO ${text}\n`).join(""),
    );
  await write("up", "what the starter saw");
  await write("control-plane", "a service=placement", "b service=compute-api", "c service=placement method=GET");
  await write("h1", "alone");
  await write("pool-1", "of h1 host=h1", "of h2 host=h2");
});
afterEach(() => rm(root, { recursive: true }));

async function findEntries(...names: string[]) {
  const { sources, missing } = await findSources(
    names,
    { directory: stateDir(root, "/"), files: new NodeFiles() },
    () => true,
  );
  const entries: string[] = [];
  for await (const { source, lines } of merged(sources)) {
    entries.push(`${source}: ${lines[0]?.slice(31)}`);
  }
  return { entries, missing };
}

it("a host has its own log and its part of shared ones, whether anything runs or not", async () => {
  expect(await findEntries("h1")).toEqual({ entries: ["h1: alone", "h1: of h1 host=h1"], missing: [] });
  expect((await findEntries("h2", "h3")).entries).toEqual(["h2: of h2 host=h2"]);
  expect((await findEntries("pool-1")).entries).toHaveLength(2);
  await rm(join(root, "logs", "pool-1.log"));
  expect(await findEntries("h2")).toEqual({ entries: [], missing: ["h2"] });
});

it("a service has its part of the control plane's log, and no name selects all logs", async () => {
  expect((await findEntries("placement")).entries).toEqual([
    "placement: a service=placement",
    "placement: c service=placement method=GET",
  ]);
  expect((await findEntries("control-plane")).entries).toHaveLength(3);
  expect((await findEntries()).entries).toHaveLength(6);
});

it("an unknown name is rejected with a suggestion", async () => {
  await expect(findEntries("h4")).rejects.toThrow(/there is no host h4 in .*did you mean h\d\?/);
  await expect(findEntries("placemnt")).rejects.toThrow("did you mean placement?");
  await rm(root, { recursive: true });
  await expect(findEntries()).rejects.toThrow("has no cluster");
  await mkdir(root);
});
