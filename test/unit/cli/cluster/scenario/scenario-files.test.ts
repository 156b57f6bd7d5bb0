import { readdir } from "node:fs/promises";
import { expect, it } from "vitest";
import { readScenario, scenarioChapter, scenarioNames } from "../../../../../src/cli/cluster/scenario/read-scenario.js";
import { SCENARIO_FILE } from "../../../../../src/cli/cluster/scenario/scenario-file.js";
import { nodeDigests } from "../../../../../src/runtime/node/node-cryptography.js";
import { NodeFiles } from "../../../../../src/runtime/node/node-files.js";

const ROOT = new URL("../../../../../", import.meta.url);
const DEPS = { files: new NodeFiles(), digests: nodeDigests, cwd: "/" };

const INTRODUCTION = `# Incidents

For operators who want to practise repairs on a cluster that is in a known bad state.

Each chapter is one incident: its cause, the commands that show it, and the commands that repair it. The page is generated from files of
the package (\`config/scenarios\`). A test runs the commands of each chapter and verifies the repair.

    compute-agent scenario list
    compute-agent scenario show stale-evacuation
    compute-agent up --scenario stale-evacuation --name course --port 0 --detach
    eval "$(compute-agent env --name course)"

\`up --scenario\` starts a new cluster, brings it into the state of the scenario, and prints the commands for inspection and repair. If the
cluster has a name, add \`--name course\` to the \`compute-agent\` commands of the chapter; \`up\` prints them with this option. \`openstack\`
is OpenStack's client with osc-placement ([clients](../reference/clients.md)).

\`scenario run NAME --name CLUSTER\` (or \`--state-dir DIR\`) plays a scenario in a running cluster. If a host that it names is not serving,
or a server that it creates exists already, the command changes nothing and exits with code 3.

By default the audit ignores a server for a minute after its last move, which may still be in progress. In these clusters nothing moves any
more, so most commands use \`--settled-for 0\` ([Audit and repair](../how-to/audit-and-repair.md)).

## Write a scenario

A scenario is a YAML file; start it with \`up --scenario ./mine.yaml\`. Errors in the file are reported with line and column before anything
starts. [config/scenario.schema.json](../../config/scenario.schema.json) is its schema, which editors can use
(\`# yaml-language-server: $schema=...\`).

| key | content |
|---|---|
| \`title\`, \`about\` | what is wrong, the cause, and the consequences |
| \`cluster\` | the required cluster, as in a [cluster file](../how-to/cluster-file.md); default: 3 hosts |
| \`steps\` | a list of steps, see below |
| \`finds\` | the codes of the audit's findings after the last step |
| \`look\`, \`mend\`, \`mended\` | commands that inspect, repair, and verify the repair, each with a description (\`say\`), the command (\`run\`) and parts of its output (\`shows\`) |

| key of a step | content |
|---|---|
| \`say\` | a sentence about what happens |
| \`run\` | a command: \`run: compute-agent host kill devstack1\`; also \`fault\`, \`wait\`, \`manage\`, \`audit\`, \`apply\` and \`virsh\` |
| \`ask\` | instead of \`run\`, a request of the administrator: \`ask: POST compute /servers\`, with \`body\` and \`version\` (the microversion) |
| \`expect\` | the exit code or HTTP status, if the step has to fail |
| \`within\` | the seconds during which the step is repeated until it succeeds |

In a request, names in braces stand for ids: \`{server vm1}\`, \`{flavor m1.tiny}\`, \`{image cirros}\`, \`{service devstack1}\` (the compute
service), \`{provider devstack1}\`, \`{generation devstack1}\` (of the provider), \`{node NAME}\` (of Ironic). In a command, \`{state_dir}\` is the
state directory of the cluster.

\`cluster\` also sets quirks of upstream, the release and initial faults: \`options: { workarounds.upstream_quirks: [...] }\`, \`release: pike\`,
\`faults\`.

<!-- not run from here: test/peers/scenarios.test.ts runs the commands of each chapter -->`;

it("docs/tutorials/incidents.md is generated from the files", async () => {
  const names = await scenarioNames(DEPS.files);
  const chapters = await Promise.all(names.map(async (name) => scenarioChapter(await readScenario(name, DEPS))));
  await expect(`${[INTRODUCTION, ...chapters].join("\n\n")}\n`).toMatchFileSnapshot(
    new URL("docs/tutorials/incidents.md", ROOT).pathname,
  );
});

it("the schema is published as config/scenario.schema.json", async () => {
  await expect(`${JSON.stringify(SCENARIO_FILE, null, 2)}\n`).toMatchFileSnapshot(
    new URL("config/scenario.schema.json", ROOT).pathname,
  );
});

it("every file of the folder belongs to a scenario", async () => {
  const names = await scenarioNames(DEPS.files);
  const files = await readdir(new URL("config/scenarios/", ROOT));
  expect(files.filter((file) => !names.includes(file.replace(/\.(yaml|conf)$/, "")))).toEqual([]);
  expect(names).toHaveLength(8);
});
