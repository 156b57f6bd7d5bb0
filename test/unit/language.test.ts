import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { isRetired } from "../fixtures/prose.js";
import { childrenOf, parse, type SyntaxNode } from "../mutants/syntax.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Identifiers with a retired word that stay, each with its reason. */
const ALLOWED: ReadonlyMap<string, string> = new Map([
  ["lastSeenUp", "Nova's services.last_seen_up"],
  ["last_seen_up", "Nova's services.last_seen_up"],
  ["answer", "a key of recordings, of the request log and of the agents' wire"],
  ["save_together", "a method of the agents' wire"],
  ["seenAgo", "a key of the agents' wire"],
  ["facts", "the header of snapshot files"],
  ["ACCESS_REFUSED", "AMQP's error"],
  ["CONNECTION_REFUSED", "Chromium's error"],
  ["refuse", "a fault rule that users write"],
  ["mend", "a key of scenario files"],
  ["mended", "a key of scenario files"],
  ["knob", "faults.json until release 0.2"],
  ["outside", "cluster.json until release 0.2"],
  ["patience", "an option until release 0.2"],
  ["doors", "driver checks until release 0.2"],
  ["ownDoor", "the driver context until release 0.2"],
  ["Verdict", "compute-agent/testing until release 0.2"],
  ["CheckDoors", "compute-agent/testing until release 0.2"],
  ["SeenProcess", "compute-agent until release 0.2"],
  ["SeenRequest", "compute-agent/cluster until release 0.2"],
  ["max_burst_kbps", "an attribute of Neutron's QoS rules"],
  ["max_burst_kpps", "an attribute of Neutron's QoS rules"],
  ["burst", "the suffix of Nova's disk I/O quotas, disk_read_iops_sec_max and their burst"],
]);

const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g;
const VAGUE_DOCSTRING = /\/\*\*\s*\*?\s*(?:(?:What|Who|Whose|Of)\b|(?:True|False|Null|Undefined):).*/g;

async function sourceFiles(): Promise<readonly string[]> {
  const folders = await Promise.all(
    ["src", "drivers", "test"].map(async (folder) =>
      (await readdir(join(ROOT, folder), { recursive: true })).map((name) => join(folder, name)),
    ),
  );
  return folders.flat().filter((path) => /\.tsx?$/.test(path));
}

const read = (path: string): Promise<string> => readFile(join(ROOT, path), "utf8");

function* identifiersIn(node: SyntaxNode): Generator<string> {
  if (/Identifier$/.test(node.type) && typeof node.name === "string") {
    yield node.name;
  }
  for (const child of childrenOf(node)) {
    yield* identifiersIn(child);
  }
}

/** Results by identifier: most occur many times. */
const results = new Map<string, boolean>();

function isForbidden(identifier: string): boolean {
  const result =
    results.get(identifier) ?? (!ALLOWED.has(identifier) && identifier.match(WORD)?.some(isRetired) === true);
  results.set(identifier, result);
  return result;
}

/** Returns whether a text needs parsing: outside its comments it has a word that would be a forbidden identifier. */
function mayHaveRetired(text: string): boolean {
  const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  return code.match(/[A-Za-z_$][\w$]*/g)?.some(isForbidden) === true;
}

describe("the language of the code", () => {
  it("has no retired word in an identifier", { timeout: 60_000 }, async () => {
    const found = new Set<string>();
    for (const path of await sourceFiles()) {
      const text = await read(path);
      if (!mayHaveRetired(text)) {
        continue;
      }
      for (const identifier of identifiersIn(parse(path, text).program)) {
        if (isForbidden(identifier)) {
          found.add(`${path}: ${identifier}`);
        }
      }
    }
    expect([...found]).toEqual([]);
  });

  it("has no retired word in a file name", async () => {
    const names = (await sourceFiles()).filter((path) => basename(path).split(/[-.]/).some(isRetired));
    expect(names).toEqual([]);
  });

  it("begins docstrings with a verb or with the thing", async () => {
    const found: string[] = [];
    for (const path of await sourceFiles()) {
      const docstrings = (await read(path)).matchAll(VAGUE_DOCSTRING);
      found.push(...Array.from(docstrings, ([text]) => `${path}: ${text}`));
    }
    expect(found).toEqual([]);
  });
});
