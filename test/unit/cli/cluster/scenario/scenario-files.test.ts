import { readdir } from "node:fs/promises";
import { expect, it } from "vitest";
import { readScenario, scenarioChapter, scenarioNames } from "../../../../../src/cli/cluster/scenario/read-scenario.js";
import { SCENARIO_FILE } from "../../../../../src/cli/cluster/scenario/scenario-file.js";
import { nodeDigests } from "../../../../../src/runtime/node/node-cryptography.js";
import { NodeFiles } from "../../../../../src/runtime/node/node-files.js";

const ROOT = new URL("../../../../../", import.meta.url);
const DEPS = { files: new NodeFiles(), digests: nodeDigests, cwd: "/" };

const INTRODUCTION = `# Disasters to learn from

A course for operators: each chapter is a cloud that is in a bad state for a known reason, what there is to see, and the commands that
mend it. They are files of this package (\`config/scenarios\`), from which this page is made, and each is tried: the text's own
commands are run, and mend what they say they mend.

    compute-agent scenario list
    compute-agent scenario show stale-evacuation
    compute-agent up --scenario stale-evacuation --name course --port 0 --detach
    eval "$(compute-agent env --name course)"

\`up --scenario\` starts a new cluster, brings it into the state of the scenario, and prints what to look at. \`scenario run NAME --into CLUSTER\`
(or \`--state-dir\`) brings it about in a cluster that runs. It changes nothing, and ends with 3, where a host that it names does not serve, or a
server that it creates is there already. With \`--name\` the commands below take it, too;
\`scenario show NAME --state-dir DIR\` and \`up\` print them so. \`openstack\` is OpenStack's client with osc-placement ([client compatibility](../reference/clients.md)).

The audit gives every server a minute after its last move before it judges it: it may be on its way still. Where nothing moves any more,
\`--settled-for 0\` has it judge at once ([Audit](../how-to/audit-and-repair.md)).

## Your own

A scenario is a YAML file: \`up --scenario ./mine.yaml\`. [config/scenario.schema.json](../../config/scenario.schema.json) describes it, also to editors
(\`# yaml-language-server: $schema=...\`). What is wrong with one is said with line and column before anything is started.

| key | |
|---|---|
| \`title\`, \`about\` | what is wrong, how it comes to this, and why it matters |
| \`cluster\` | the cluster it needs, as in a [cluster file](../how-to/cluster-file.md); 3 hosts unless it says so |
| \`steps\` | each says what happens (\`say\`), and is a command (\`run: compute-agent host kill devstack1\`; also \`fault\`, \`wait\`, \`manage\`, \`audit\`, \`apply\`, \`virsh\`) or a request of the administrator (\`ask: POST compute /servers\` with \`body\` and \`version\`). \`expect\` is the exit code or status if it is to fail; \`within\` the seconds for which it is tried again |
| \`finds\` | the codes of what the audit finds then |
| \`look\`, \`mend\`, \`mended\` | commands for the operator, with what they show |

In a request names in braces stand for ids: \`{server vm1}\`, \`{flavor m1.tiny}\`, \`{image cirros}\`, \`{service devstack1}\` (the compute service),
\`{provider devstack1}\`, \`{generation devstack1}\` (the provider's), \`{node NAME}\` (Ironic's). In a command \`{state_dir}\` is the cluster's.

Quirks of upstream, releases and faults from the start go into \`cluster\`: \`options: { workarounds.upstream_quirks: [...] }\`, \`release: pike\`, \`faults\`.

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
