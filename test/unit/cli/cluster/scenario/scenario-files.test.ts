import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { readScenario, scenarioNames } from "../../../../../src/cli/cluster/scenario/read-scenario.js";
import { SCENARIO_FILE } from "../../../../../src/cli/cluster/scenario/scenario-file.js";
import { nodeDigests } from "../../../../../src/runtime/node/node-cryptography.js";
import { NodeFiles } from "../../../../../src/runtime/node/node-files.js";
import { readOutputs } from "../../../../fixtures/incidents/outputs.js";
import { capitalized, incidentPage } from "../../../../fixtures/incidents/page.js";

const ROOT = new URL("../../../../../", import.meta.url);
const DEPS = { files: new NodeFiles(), digests: nodeDigests, cwd: "/" };

const INTRODUCTION = `# Incidents

For operators who want to practise repairs on a cluster that is in a known bad state.

Each page is one incident: its symptom, the command that makes it happen, the commands that show it with their output, the cause, and the
commands that repair it.

INCIDENTS

## Follow a page

The commands need \`compute-agent\` in the search path; in a checkout run \`alias compute-agent="npx compute-agent"\` first.

\`\`\`sh
compute-agent scenario list
compute-agent scenario show stale-evacuation
compute-agent up --scenario stale-evacuation --name course --port 0 --detach
eval "$(compute-agent env --name course)"
\`\`\`

\`up --scenario\` starts a new cluster, brings it into the state of the incident, and prints the commands for inspection and repair. The
pages call the cluster \`course\`. \`openstack\` is OpenStack's client with osc-placement ([clients](../reference/clients.md)).

\`scenario run NAME --name CLUSTER\` (or \`--state-dir DIR\`) plays an incident in a running cluster. The command exits with
code 3 and changes nothing if a host of the incident is not serving, or if one of its servers exists.

The pages are generated from files of the package (\`config/scenarios\`). A test runs the commands of each page, compares their output, and
verifies the repair. Ids, times and process ids differ in your cluster.

By default the audit ignores a server for a minute after its last move, which may still be in progress. In these clusters nothing moves any
more, so most commands use \`--settled-for 0\` ([Audit and repair](../how-to/audit-and-repair.md)).

## Write a scenario

A scenario is a YAML file; start it with \`up --scenario ./mine.yaml\`. Errors in the file are reported with line and column before anything
starts. [config/scenario.schema.json](../../config/scenario.schema.json) is its schema, which editors can use
(\`# yaml-language-server: $schema=...\`).

| key | content |
|---|---|
| \`title\`, \`symptom\`, \`about\` | what is wrong, what an operator notices first, and the cause |
| \`bugs\` | numbers of Nova's bugs behind it |
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
\`faults\`.`;

it("docs/tutorials/incidents.md and the pages beside it are generated from the files", async () => {
  const names = await scenarioNames(DEPS.files);
  const scenarios = await Promise.all(names.map((name) => readScenario(name, DEPS)));
  const rows = scenarios.map(({ name, title }) => `| [${capitalized(title)}](incidents/${name}.md) | \`${name}\` |`);
  const index = INTRODUCTION.replace("INCIDENTS", ["| incident | name |", "|---|---|", ...rows].join("\n"));
  await expect(`${index}\n`).toMatchFileSnapshot(fileURLToPath(new URL("docs/tutorials/incidents.md", ROOT)));
  for (const scenario of scenarios) {
    const page = incidentPage(scenario, await readOutputs(scenario.name));
    const path = fileURLToPath(new URL(`docs/tutorials/incidents/${scenario.name}.md`, ROOT));
    await expect(`${page}\n`).toMatchFileSnapshot(path);
  }
  const pages = await readdir(new URL("docs/tutorials/incidents/", ROOT));
  expect(pages.toSorted()).toEqual(names.map((name) => `${name}.md`));
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
