import { beforeEach, describe, expect, it } from "vitest";
import {
  clustersHome,
  isClusterName,
  KnownClusters,
  nameOfRoot,
  rootOfName,
} from "../../../../src/control-plane/local/known-clusters.js";
import { nodeDigests } from "../../../../src/runtime/node/node-cryptography.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

const HOME = "/home/ada/.local/state/compute-cluster";
let files: ReturnType<typeof createVirtualRuntime>["files"];
let known: KnownClusters;

beforeEach(() => {
  files = createVirtualRuntime().files;
  known = new KnownClusters(HOME, files, nodeDigests);
});

describe("the known clusters of a user", () => {
  it("include named clusters, and remembered ones that still exist", async () => {
    await files.makeFolder(rootOfName(HOME, "ci-7"));
    await files.makeFolder("/repo/.compute-cluster");
    await known.remember({ root: "/repo/.compute-cluster" });
    await known.remember({ root: "/repo/.compute-cluster" });
    await known.remember({ root: "/gone/.compute-cluster" });
    await known.remember({ root: rootOfName(HOME, "ci-7") });
    expect(await known.roots()).toEqual([`${HOME}/clusters/ci-7`, "/repo/.compute-cluster"]);
    // A folder that reappears later is another one.
    await files.makeFolder("/gone/.compute-cluster");
    expect(await known.roots()).toHaveLength(2);
  });

  it("include no folder that is being deleted, and no foreign files", async () => {
    await files.makeFolder(`${HOME}/clusters/.hidden`);
    for (const [index, text] of ["{}", '{"root":"relative"}', '{"root":7}', "half a {", ""].entries()) {
      await files.write(`${HOME}/known/${index}.json`, text);
    }
    expect(await known.roots()).toEqual([]);
  });

  it("have names that are folders of one level", () => {
    expect(["a", "ci-7", "A.b_c", "x".repeat(63)].filter((name) => !isClusterName(name))).toEqual([]);
    expect(["", ".", "..", "-x", "a/b", "x".repeat(64), "ä"].filter(isClusterName)).toEqual([]);
    expect(nameOfRoot(HOME, rootOfName(HOME, "ci-7"))).toBe("ci-7");
    expect(nameOfRoot(HOME, "/repo/.compute-cluster")).toBeNull();
  });

  it("are stored under XDG_STATE_HOME, if that is absolute", () => {
    expect(clustersHome({}, "/home/ada")).toBe(HOME);
    expect(clustersHome({ XDG_STATE_HOME: "/state" }, "/home/ada")).toBe("/state/compute-cluster");
    expect(clustersHome({ XDG_STATE_HOME: "state" }, "/home/ada")).toBe(HOME);
  });
});
