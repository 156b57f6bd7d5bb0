import { expect, it } from "vitest";
import { ensureUsable, hostsWithState, stateDir } from "../../../../src/control-plane/local/state-dir.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

it("a state directory has a .gitignore that excludes everything, unless there is one already", async () => {
  const { files } = createVirtualRuntime();
  await ensureUsable(files, { root: "/state/.compute-cluster" });
  expect(await files.read("/state/.compute-cluster/.gitignore")).toBe("*\n");
  await files.write("/state/.compute-cluster/.gitignore", "logs\n");
  await ensureUsable(files, { root: "/state/.compute-cluster" });
  expect(await files.read("/state/.compute-cluster/.gitignore")).toBe("logs\n");
});

it("an empty folder of a rejected agent is not listed as a host", async () => {
  const { files } = createVirtualRuntime();
  const directory = stateDir("/state", "/");
  await files.makeFolder(directory.agent("mistyped"));
  await files.write(`${directory.agent("devstack1")}/compute_id`, "1\n");
  expect(await hostsWithState(files, directory)).toEqual(["devstack1"]);
});
