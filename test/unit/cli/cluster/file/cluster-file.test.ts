import { readFile } from "node:fs/promises";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { CLUSTER_FILE } from "../../../../../src/cli/cluster/file/cluster-file.js";
import { UP_FLAGS } from "../../../../../src/cli/cluster/file/up-flags.js";
import { upCommand } from "../../../../../src/cli/cluster/up.js";
import { described } from "./read.js";

const CONFIG = new URL("../../../../../config/", import.meta.url);
const sample = () => readFile(new URL("cluster.yaml", CONFIG), "utf8");

/** Removes the # of lines that users may uncomment. */
const uncommented = (text: string): string => text.replace(/^( *)#(?=[a-z_ ]+:)/gm, "$1");

describe("the schema of cluster files", () => {
  it("is published as config/cluster.schema.json", async () => {
    await expect(`${JSON.stringify(CLUSTER_FILE, null, 2)}\n`).toMatchFileSnapshot(
      new URL("cluster.schema.json", CONFIG).pathname,
    );
  });

  it("accepts the sample, which names every key", async () => {
    const validate = new Ajv({ strict: false }).compile(
      JSON.parse(await readFile(new URL("cluster.schema.json", CONFIG), "utf8")),
    );
    const sampleFile: unknown = parse(uncommented(await sample()));
    expect(validate(sampleFile), JSON.stringify(validate.errors)).toBe(true);
    expect(Object.keys(sampleFile as object).sort()).toEqual(Object.keys(CLUSTER_FILE.properties).sort());
    const groups = (sampleFile as { hosts: object[] }).hosts.flatMap((group) => Object.keys(group));
    expect([...new Set(groups)].sort()).toEqual(Object.keys(CLUSTER_FILE.properties.hosts.items.properties).sort());
  });

  it("accepts the sample without changes", async () => {
    const { groups = [], file } = await described(await sample());
    expect(groups.map(({ hosts }) => hosts.length)).toEqual([6, 2]);
    expect(file.flavors).toHaveLength(2);
  });

  it("has a key for every flag of up, except those about the file itself or about a single start", () => {
    const flags = upCommand().options.map(({ long }) => long);
    const about = ["--file", "--scenario", "--check", "--yes", "--detach", "--json", "--owner"];
    // A group sets the release of its hosts.
    const fileFlags = [...UP_FLAGS.map(({ flag }) => flag), "--releases"];
    expect(flags.filter((flag) => !about.includes(flag ?? "")).sort()).toEqual(fileFlags.sort());
    expect(Object.keys(CLUSTER_FILE.properties)).toEqual(expect.arrayContaining(UP_FLAGS.map(({ key }) => key)));
  });
});
