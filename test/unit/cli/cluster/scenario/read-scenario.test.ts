import { describe, expect, it } from "vitest";
import { commandFor, describeScenario, readScenario } from "../../../../../src/cli/cluster/scenario/read-scenario.js";
import { resolveReferences, wordsOf } from "../../../../../src/cli/cluster/scenario/scenario-file.js";
import type { CloudSession } from "../../../../../src/control-plane/local/cloud-session.js";
import { nodeDigests } from "../../../../../src/runtime/node/node-cryptography.js";
import { NodeFiles } from "../../../../../src/runtime/node/node-files.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { OPTIONS } from "../file/read.js";

const REST = `look: [{ say: a, run: b }]
mend: [{ say: a, run: b }]
mended: [{ say: a, run: b }]
`;

/** Returns the problems of a scenario file with this text, one per line. */
async function problems(text: string): Promise<readonly string[]> {
  const { files } = createVirtualRuntime();
  await files.write("/here/mine.yaml", `title: t\nabout: a\n${text}\n${REST}`);
  const flags = { options: OPTIONS, providedOptions: new Set<string>() };
  return describeScenario("./mine.yaml", flags, { files, digests: nodeDigests, cwd: "/here" }).then(
    () => [],
    (error: Error) => error.message.split("\n"),
  );
}

describe("a scenario file", () => {
  it("may be a user's own file", async () => {
    expect(await problems("steps: [{ say: s, run: compute-agent host kill devstack1 }]")).toEqual([]);
  });

  it.each([
    ["stpes: []", "./mine.yaml:3:1: there is no stpes; did you mean steps?"],
    ["steps: []", "./mine.yaml:3:8: steps: found [], expected at least 1"],
    ["steps: [{ say: s }]", "./mine.yaml:3:11: steps.0: found neither, expected one of run and ask"],
    ["steps: [{ say: s, run: compute-agent host list, body: {} }]", "./mine.yaml:3:49: steps.0: body requires ask"],
    ["steps: [{ say: s, run: 'compute-agent host kill \"x' }]", "./mine.yaml:3:19: steps.0: found an unclosed quote"],
    [
      "steps: [{ say: s, ask: 'GET compute /servers/{sever vm1}' }]",
      "./mine.yaml:3:19: steps.0: there is no {sever ...}; did you mean server?",
    ],
    [
      "steps: [{ say: s, run: compute-agent host list }]\nfinds: [orphaned-consumers]",
      "./mine.yaml:4:9: finds.0: the audit finds no orphaned-consumers; did you mean orphaned-consumer?",
    ],
    [
      "steps: [{ say: s, run: compute-agent host list }]\ncluster:\n  hosts: [{ name: a, vcpu: 1 }]",
      "./mine.yaml:5:22: hosts.0: there is no vcpu; did you mean vcpus?",
    ],
  ])("is rejected with the position of the problem: %s", async (text, problem) => {
    expect(await problems(text)).toContain(problem);
  });

  it("may only run commands that change a cluster as an operator does", async () => {
    const [problem] = await problems("steps: [{ say: s, run: rm -rf / }]");
    expect(problem).toContain('steps.0.run: found "rm -rf /"');
  });

  it("of the package is found by its name, with a suggestion for a misspelt one", async () => {
    const deps = { files: new NodeFiles(), digests: nodeDigests, cwd: "/" };
    expect((await readScenario("overcommitted", deps)).finds).toEqual(["overcommitted-inventory"]);
    await expect(readScenario("overcomitted", deps)).rejects.toThrow("did you mean overcommitted?");
    await expect(readScenario("x", deps)).rejects.toThrow("the path of a file ends in .yaml");
    await expect(readScenario("./x.yaml", deps)).rejects.toThrow("./x.yaml: there is no such file");
  });
});

it("names in braces are replaced by ids, also in keys, and by values that are not strings", async () => {
  const cloud: CloudSession = {
    request: async (_service, _method, path) =>
      path.startsWith("/resource_providers")
        ? { resource_providers: [{ uuid: "p-1", generation: 7 }] }
        : {
            servers: [
              { id: "vm10-id", name: "vm10" },
              { id: "vm1-id", name: "vm1" },
            ],
          },
  };
  expect(
    await resolveReferences(
      { "{provider h}": ["/servers/{server vm1}/x", "{generation h}", 1, null], text: "{not one}" },
      { request: async (...requestArgs) => (requestArgs[2].includes("one") ? {} : cloud.request(...requestArgs)) },
    ).catch((error: Error) => error.message),
  ).toBe("there is no {not ...}");
  expect(
    await resolveReferences({ "{provider h}": ["/servers/{server vm1}/x", "{generation h}", 1, null] }, cloud),
  ).toEqual({
    "p-1": ["/servers/vm1-id/x", 7, 1, null],
  });
  await expect(resolveReferences("{server vm2}", cloud)).rejects.toThrow("there is no server vm2 in the cluster");
});

it("commands are split into words, and get the option for the cluster before pipes and redirections", () => {
  expect(wordsOf(`a "b c" d='e f' ''`)).toEqual(["a", "b c", "d=e f", ""]);
  expect(wordsOf("a 'b")).toBeUndefined();
  expect(commandFor("compute-agent status\n", " --name x")).toBe("compute-agent status --name x");
  expect(commandFor("compute-agent logs h1 | grep a\nopenstack server list", " --name x")).toBe(
    "compute-agent logs h1 --name x | grep a\nopenstack server list",
  );
});
