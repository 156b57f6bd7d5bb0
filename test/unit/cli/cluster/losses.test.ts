import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { clusterLosses, confirmLosses, lossesSince } from "../../../../src/cli/cluster/losses.js";
import type { Terminal } from "../../../../src/cli/ui/terminal.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";
import { openStore } from "../../../../src/control-plane/store/open-store.js";
import { createNodeRuntime } from "../../../../src/runtime/node/node-runtime.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { addInstance, uuidOf } from "../../agent/support/records.js";

async function confirmed(losses: readonly string[], yes = false) {
  const lines: string[] = [];
  const print = (text: string) => void lines.push(text);
  const terminal = { print, complain: print } as unknown as Terminal;
  return { end: await confirmLosses({ command: "compute-agent reset", losses, yes }, terminal), lines };
}

it("a command that destroys something requires --yes without a terminal, and lists what it destroys", async () => {
  expect(await confirmed(["servers vm1, vm2", "host extra1"])).toEqual({
    end: 3,
    lines: [
      "compute-agent reset destroys:\n  - servers vm1, vm2\n  - host extra1",
      "compute-agent: compute-agent reset destroys what is listed above: confirm it with --yes; nothing was changed",
    ],
  });
  expect(await confirmed(["servers vm1, vm2"], true)).toEqual({ end: undefined, lines: [] });
  expect(await confirmed([])).toEqual({ end: undefined, lines: [] });
});

it("a restore destroys what was created after its snapshot; an imported snapshot destroys everything", async () => {
  const root = await mkdtemp(join(tmpdir(), "compute-agent-losses-"));
  onTestFinished(() => rm(root, { recursive: true }));
  const runtime = createNodeRuntime({ logger: createVirtualRuntime().logger });
  const directory = stateDir(root, "/");
  expect(await clusterLosses(directory, runtime)).toEqual([]);
  let now = 1_000;
  const clock = { ...runtime.clock, now: () => now };
  const store = await openStore({ path: directory.database, runtime: { ...runtime, clock } });
  onTestFinished(() => store.close());
  const add = (host: string, number: number, name: string) => {
    store.services.create({ host, binary: "nova-compute", topic: "compute", version: 64, disabled: false });
    addInstance(store, uuidOf(number), { displayName: name });
  };
  add("devstack1", 1, "old");
  now = 3_000;
  add("extra1", 2, "new");
  const metadata = { savedAt: 2_000, program: "0", root, drivers: {} };
  expect(await lossesSince({ metadata }, directory, runtime)).toEqual(["server new", "host extra1"]);
  const everything = ["servers old, new", "hosts devstack1,extra1"];
  expect(await lossesSince({ metadata: { ...metadata, isImported: true } }, directory, runtime)).toEqual(everything);
  expect(await clusterLosses(directory, runtime)).toEqual(everything);
});
