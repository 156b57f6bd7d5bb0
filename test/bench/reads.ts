/**
 * `npm run bench reads`: whether client reads slow down an agent. The control plane has 1,000 servers on 100 hosts in a
 * file; one agent stops and starts its own server. Three cases alternate: no reads, 1,000 mixed reads per second of
 * another control plane with the same servers, and as many of its own. The duration of an operation comes from its
 * events: from the agent's start to the stored outcome. Reads of the other control plane use the same processor time of
 * the machine. A slowdown with them is due to the processors; the rest is time that the agent waits for its control
 * plane.
 *
 * `--kinds` measures the control plane's processor time per read of each kind instead.
 */
import { parseArgs } from "node:util";
import { renderTable } from "../../src/cli/ui/table.js";
import { stateDir } from "../../src/control-plane/local/state-dir.js";
import { fillCloud } from "../fixtures/large-cloud.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import { usageOf } from "./processes.js";
import { readsByKind } from "./reads-kinds.js";
import { type LoadFigures, underReads } from "./reads-load.js";

const SERVERS = 1_000;
const HOSTS = 100;
const ROUNDS = 8;
/** Stop and start requests per round. */
const OPERATIONS = 20;

const { values } = parseArgs({
  options: { rate: { type: "string", default: "1000" }, kinds: { type: "boolean", default: false } },
});
const rate = Number(values.rate);

interface EventTimes {
  readonly start_time: string;
  readonly finish_time: string;
}

/** Returns the milliseconds of each operation. */
async function operate(cloud: LocalCloud, operator: Operator, id: string): Promise<readonly number[]> {
  for (let n = 0; n < OPERATIONS; n += 1) {
    await cloud.compute("POST", `/servers/${id}/action`, { "os-stop": null });
    await operator.serverIn(id, "SHUTOFF");
    await cloud.compute("POST", `/servers/${id}/action`, { "os-start": null });
    await operator.serverIn(id, "ACTIVE");
  }
  const { body } = await cloud.compute("GET", `/servers/${id}/os-instance-actions?limit=${2 * OPERATIONS}`);
  const times: number[] = [];
  for (const { request_id } of Object.values(body.instanceActions ?? {})) {
    const response = await cloud.compute("GET", `/servers/${id}/os-instance-actions/${request_id}`);
    const [event] = Object.values(response.body.instanceAction?.events ?? {}) as unknown as EventTimes[];
    times.push(Date.parse(`${event?.finish_time}Z`) - Date.parse(`${event?.start_time}Z`));
  }
  return times;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Returns the interquartile mean: medians of millisecond clocks are coarse, and one pause of the machine distorts a mean. */
function middle(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const quarter = Math.floor(sorted.length / 4);
  return mean(sorted.slice(quarter, sorted.length - quarter));
}

/** Measures the processor time of a control plane during the work, in cores. */
async function coresDuring<T>(cloud: LocalCloud, work: () => Promise<T>): Promise<{ result: T; cores: number }> {
  const used = async () => (await usageOf([cloud.controlPlane.pid])).cpu;
  const [before, began] = [await used(), performance.now()];
  const result = await work();
  return { result, cores: ((await used()) - before) / ((performance.now() - began) / 1000) };
}

/** Returns rows of a table. */
async function operationsUnderReads(cloud: LocalCloud, other: LocalCloud): Promise<readonly (readonly string[])[]> {
  await cloud.startAgent("bench1");
  const operator = new Operator(cloud);
  const id = await operator.boot("bench", { host: "bench1", flavor: "bench" });
  await operator.serverIn(id, "ACTIVE");
  const times = { quiet: [] as number[], other: [] as number[], own: [] as number[] };
  const cores = { quiet: [] as number[], own: [] as number[] };
  const loads: LoadFigures[] = [];
  const readFrom = async ({ url, token }: { readonly url: string; readonly token: string }) =>
    underReads({ url, token, servers: SERVERS, rate }, () => operate(cloud, operator, id));
  const own = { url: cloud.url, token: await cloud.token() };
  const others = { url: other.url, token: await other.token() };
  for (const warmUp of [own, others]) {
    await readFrom(warmUp);
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const quiet = await coresDuring(cloud, () => operate(cloud, operator, id));
    times.quiet.push(...quiet.result);
    cores.quiet.push(quiet.cores);
    times.other.push(...(await readFrom(others)).result);
    const busy = await coresDuring(cloud, () => readFrom(own));
    times.own.push(...busy.result.result);
    cores.own.push(busy.cores);
    loads.push(busy.result.load);
  }
  const over = (pick: (load: LoadFigures) => number) => median(loads.map(pick));
  const ratio = (above: readonly number[], below: readonly number[]) => (middle(above) / middle(below)).toFixed(2);
  const milliseconds = (of: readonly number[]) => middle(of).toFixed(1);
  const aRead = (1000 * (mean(cores.own) - mean(cores.quiet))) / over((load) => load.rate);
  return [
    ["reads a second, answered", over((load) => load.rate).toFixed(0)],
    ["a read, median (ms)", over((load) => load.median).toFixed(1)],
    ["a read, 99 of 100 (ms)", over((load) => load.p99).toFixed(1)],
    ["a read, the slowest (ms)", Math.max(...loads.map(({ worst }) => worst)).toFixed(0)],
    ["a read, of the control plane's processor (ms)", aRead.toFixed(3)],
    ["cores that the control plane takes", mean(cores.own).toFixed(2)],
    ["stop or start by the agent, without reads (ms)", milliseconds(times.quiet)],
    ["... with those of another control plane (ms)", milliseconds(times.other)],
    ["... with those of its own (ms)", milliseconds(times.own)],
    ["own reads : no reads", ratio(times.own, times.quiet)],
    ["another's reads : no reads, the machine's part", ratio(times.other, times.quiet)],
    ["own reads : another's reads", ratio(times.own, times.other)],
    ...loads.flatMap(({ rejections }) => [...rejections].map(([what, count]) => [`refused: ${what}`, String(count)])),
  ];
}

function print(title: string, rows: readonly (readonly string[])[]): void {
  const columns = [
    { title: `${SERVERS} servers`, value: (row: readonly string[]) => row[0] ?? "" },
    { title, value: (row: readonly string[]) => row[1] ?? "", align: "right" as const },
  ];
  process.stdout.write(`${renderTable(columns, rows, process.stdout.columns ?? 120)}\n`);
}

const clouds: LocalCloud[] = [];

async function filledCloud(): Promise<LocalCloud> {
  const cloud = await LocalCloud.start();
  clouds.push(cloud);
  await cloud.controlPlane.stop();
  await fillCloud(stateDir(cloud.stateDir, "/").database, { hosts: HOSTS, servers: SERVERS });
  await cloud.startControlPlane();
  return cloud;
}

try {
  const cloud = await filledCloud();
  if (values.kinds) {
    const kinds = await readsByKind(cloud, SERVERS);
    print(
      "of the processor (ms)",
      kinds.map(({ kind, processor }) => [kind, processor.toFixed(3)]),
    );
  } else {
    print(`${ROUNDS} rounds`, await operationsUnderReads(cloud, await filledCloud()));
  }
} finally {
  await Promise.all(clouds.map((each) => each.dispose()));
}
