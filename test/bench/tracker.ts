/**
 * `npm run bench tracker`: passes of an agent over many nodes: the first one, an unchanged one, and one with one changed
 * node. It measures seconds, requests to Placement, and memory. The embedded Placement is called in the same process
 * without sockets, so its own work is included. Then it measures up to 1,000 nodes with the real Placement: that of
 * `--placement URL`, else Debian's, if installed. For comparison: an unchanged pass of nova-compute from master over
 * 1,000 nodes on a machine of this size (2 cores).
 */
import { performance } from "node:perf_hooks";
import { openStore } from "../../src/control-plane/store/open-store.js";
import { UndiciHttpClient } from "../../src/runtime/node/undici-http-client.js";
import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";
import { FAKE_NODE, StubHypervisor } from "../fixtures/tracker-driver.js";
import { type TestAgent, TrackerWorld } from "../fixtures/tracker-world.js";
import { realDatabase, startReal } from "./placement-servers.js";

const NOVA = { nodes: 1_000, seconds: 267, requests: 2_002 };
const AIM = { nodes: 1_000, seconds: 1, requests: 10 };
const MAX_REAL_PLACEMENT_NODES = 1_000;

interface Row {
  readonly nodes: number;
  readonly pass: string;
  readonly seconds: number;
  readonly requests: number;
  readonly calls: number;
  readonly memoryMb: number;
}

const SIZES = [1, 100, 1_000, 10_000];

function heapMb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}

async function measure(agent: TestAgent, nodes: number, pass: string, before: number): Promise<Row> {
  agent.http.take();
  agent.session.calls.length = 0;
  const start = performance.now();
  await agent.tracker.updateAvailableResource({ startup: pass === "first" });
  const seconds = (performance.now() - start) / 1000;
  const [requests, calls] = [agent.http.take().length, agent.session.calls.length];
  return { nodes, pass, seconds, requests, calls, memoryMb: heapMb() - before };
}

async function run(nodes: number, endpoint?: string): Promise<Row[]> {
  const open = ({ runtime }: { readonly runtime: VirtualRuntime }) => openStore({ path: ":memory:", runtime });
  const world = await TrackerWorld.create(1, { checked: false, open });
  const before = heapMb();
  const hypervisor = new StubHypervisor();
  const prefix = world.runtime.random.hex(4);
  for (let index = 0; index < nodes; index += 1) {
    hypervisor.nodes.set(`${prefix}-${index}`, { ...FAKE_NODE, uuid: world.runtime.random.uuid() });
  }
  const real = endpoint === undefined ? {} : { endpoint, http: new UndiciHttpClient() };
  const agent = await world.agent("bench", hypervisor, { ...real, watched: false });
  const rows = [await measure(agent, nodes, "first", before)];
  rows.push(await measure(agent, nodes, "second", before));
  rows.push(await measure(agent, nodes, "unchanged", before));
  const [changed] = hypervisor.nodes.values();
  if (changed) {
    changed.vcpus += 1;
  }
  rows.push(await measure(agent, nodes, "one changed", before));
  const failed = world.runtime.logs.find(({ level }) => level === "error");
  if (failed) {
    throw new Error(`a pass failed: ${failed.message} ${String(failed.fields.err)}`);
  }
  return rows;
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const columns = [8, 14, 10, 10, 12, 10];
const line = (cells: readonly string[]): string => cells.map((cell, i) => cell.padStart(columns[i] ?? 10)).join("");

async function table(title: string, sizes: readonly number[], endpoint?: string): Promise<void> {
  print(`Placement: ${title}`);
  print(line(["nodes", "pass", "seconds", "requests", "conductor", "heap MB"]));
  for (const nodes of sizes) {
    for (const row of await run(nodes, endpoint)) {
      const { pass, seconds, requests, calls, memoryMb } = row;
      print(line([`${nodes}`, pass, seconds.toFixed(3), `${requests}`, `${calls}`, memoryMb.toFixed(1)]));
    }
  }
}

async function onRealPlacement(): Promise<void> {
  const sizes = SIZES.filter((nodes) => nodes <= MAX_REAL_PLACEMENT_NODES);
  const endpoint = process.argv.includes("--placement")
    ? process.argv[process.argv.indexOf("--placement") + 1]
    : undefined;
  if (endpoint !== undefined) {
    return table(endpoint, sizes, endpoint);
  }
  const database = realDatabase();
  if (database === undefined) {
    return print("the real Placement is not installed: apt-get install placement-api gunicorn");
  }
  const real = await startReal(database, { providers: 0, consumers: 0 });
  try {
    await table(`the real one, 2 workers, ${database}`, sizes, real.url);
  } finally {
    await real.stop();
  }
}

await table("embedded, in this process", SIZES);
await onRealPlacement();
print(`aim, unchanged pass over ${AIM.nodes} nodes: under ${AIM.seconds} s and at most ${AIM.requests} requests`);
print(`nova-compute, the same: ${NOVA.seconds} s and ${NOVA.requests.toLocaleString("en")} requests`);
