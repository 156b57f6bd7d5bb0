import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  commandFor,
  readScenario,
  type Scenario,
  scenarioNames,
} from "../../src/cli/cluster/scenario/read-scenario.js";
import type { ScenarioCommand } from "../../src/cli/cluster/scenario/scenario-file.js";
import { nodeDigests } from "../../src/runtime/node/node-cryptography.js";
import { NodeFiles } from "../../src/runtime/node/node-files.js";
import { excerpt, type Outputs, outputsPath, readOutputs, shapeOf } from "../fixtures/incidents/outputs.js";
import { PACKAGE_ROOT } from "../process/support/program.js";
import { requireClients } from "./openstack-client/clients.js";

const DEPS = { files: new NodeFiles(), digests: nodeDigests, cwd: "/" };
const NAMES = await scenarioNames(DEPS.files);

/** Folder of the clusters, the written plans, and links to both programs. */
let folder: string;

beforeAll(async () => {
  requireClients();
  folder = await mkdtemp(join(tmpdir(), "compute-agent-scenarios-"));
  await mkdir(join(folder, "bin"));
  for (const name of ["compute-cluster", "compute-agent"]) {
    await symlink(join(PACKAGE_ROOT, "dist/bin", `${name}.js`), join(folder, "bin", name));
  }
});
afterAll(async () => {
  await typed("compute-agent down --all --yes");
  await rm(folder, { recursive: true });
});

interface Typed {
  readonly code: number;
  readonly printed: string;
}

/** Runs a command as a user types it in a shell whose clients are configured for a cluster. */
function typed(command: string, cluster?: string): Promise<Typed> {
  const clouds = join(folder, "compute-cluster/clusters", cluster ?? "", "clouds.yaml");
  // Debian's client needs Debian's interpreter.
  const path = `${folder}/bin:${join(process.execPath, "..")}:/usr/bin:/bin`;
  const env = { PATH: path, HOME: folder, XDG_STATE_HOME: folder, OS_CLIENT_CONFIG_FILE: clouds, OS_CLOUD: "devstack" };
  return new Promise((resolve) => {
    execFile("/bin/bash", ["-c", command], { cwd: folder, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), printed: stdout + stderr });
    });
  });
}

/** With this variable the outputs in the docs are recorded again; then run the unit test of the pages with -u. */
const IS_RECORDING = process.env.RECORD_INCIDENTS === "1";

/** Runs the commands of a text, and checks their documented output. @returns the outputs as the docs show them */
async function follow(
  part: readonly ScenarioCommand[],
  { name }: Scenario,
  mayFail: boolean,
): Promise<readonly string[]> {
  const outputs: string[] = [];
  for (const { run, shows = [] } of part) {
    const { code, printed } = await typed(commandFor(run, ` --name ${name}`), name);
    for (const text of shows) {
      // A table wraps its lines at the width of the terminal.
      expect(printed, run).toContain(text);
    }
    expect(mayFail ? 0 : code, `${run}\n${printed}`).toBe(0);
    outputs.push(excerpt(printed, { expected: shows, folder, name }));
  }
  return outputs;
}

test.each(NAMES)("scenario %s has the described state, and the documented commands repair it", async (name) => {
  const scenario = await readScenario(name, DEPS);
  const up = await typed(`compute-agent up --scenario ${name} --name ${name} --port 0 --detach`);
  expect(up.code, up.printed).toBe(0);
  const audit = await typed(`compute-agent audit --settled-for 0 --json --name ${name}`);
  const { findings } = JSON.parse(audit.printed) as { readonly findings: readonly { readonly code: string }[] };
  expect(findings.map(({ code }) => code)).toEqual(scenario.finds);
  const outputs: Outputs = {
    look: await follow(scenario.look, scenario, true),
    mend: await follow(scenario.mend, scenario, false),
    mended: await follow(scenario.mended, scenario, false),
  };
  // The order of a table's rows follows ids, which differ. Periodic tasks log a message more often if a run takes longer.
  const linesOf = (text: string): readonly string[] => {
    const lines = text.split("\n").map((line) => line.trim());
    return [...new Set(lines.filter((line) => line !== ""))].toSorted();
  };
  const shapes = (all: Outputs): unknown => Object.values(all).map((each) => each.map(shapeOf).map(linesOf));
  if (IS_RECORDING) {
    await writeFile(outputsPath(name), `${JSON.stringify(outputs, null, 2)}\n`);
  }
  expect(shapes(outputs)).toEqual(shapes(await readOutputs(name)));
  const auditAfterFix = await typed(`compute-agent audit --nova-manage-exit-codes --settled-for 0 --name ${name}`);
  expect(auditAfterFix).toMatchObject({ code: 0 });
  await typed(`compute-agent down --name ${name}; compute-agent delete ${name} --yes`);
});
