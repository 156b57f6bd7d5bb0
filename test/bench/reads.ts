/**
 * `npm run bench:reads`: whether an agent is slower while clients read. A control plane over a file with 1,000 servers on 100 hosts, one
 * agent, which stops and starts a server of its own: without reads, and with 1,000 mixed reads a second, in turns. What an operation
 * takes is what its events say: from the moment at which the agent begins to the one at which the outcome is stored.
 */
import { parseArgs } from "node:util";
import { renderTable } from "../../src/cli/ui/table.js";
import { stateDir } from "../../src/cluster/local/state-dir.js";
import { fillCloud } from "../fixtures/large-cloud.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import { usageOf } from "./processes.js";
import { type LoadFigures, underReads } from "./reads-load.js";

const SERVERS = 1_000;
const HOSTS = 100;
const ROUNDS = 5;
/** Of stop and start each, a round. */
const OPERATIONS = 20;

const { values } = parseArgs({ options: { rate: { type: "string", default: "1000" } } });
const rate = Number(values.rate);

interface EventTimes {
  readonly start_time: string;
  readonly finish_time: string;
}

/** Milliseconds of each operation. */
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
    const shown = await cloud.compute("GET", `/servers/${id}/os-instance-actions/${request_id}`);
    const [event] = Object.values(shown.body.instanceAction?.events ?? {}) as unknown as EventTimes[];
    times.push(Date.parse(`${event?.finish_time}Z`) - Date.parse(`${event?.start_time}Z`));
  }
  return times;
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

const cloud = await LocalCloud.start();
const quiet: number[] = [];
const busy: number[] = [];
const loads: LoadFigures[] = [];
let cores = 0;
try {
  await cloud.controlPlane.stop();
  await fillCloud(stateDir(cloud.stateDir, "/").database, { hosts: HOSTS, servers: SERVERS });
  await cloud.startControlPlane();
  await cloud.startAgent("bench1");
  const operator = new Operator(cloud);
  const token = await cloud.token();
  const id = await operator.boot("bench", { host: "bench1", flavor: "bench" });
  await operator.serverIn(id, "ACTIVE");
  await operate(cloud, operator, id);
  const used = async () => (await usageOf([cloud.controlPlane.pid])).cpu;
  for (let round = 0; round < ROUNDS; round += 1) {
    quiet.push(...(await operate(cloud, operator, id)));
    const [before, began] = [await used(), performance.now()];
    const { result, load } = await underReads({ url: cloud.url, token, servers: SERVERS, rate }, () =>
      operate(cloud, operator, id),
    );
    cores += ((await used()) - before) / ((performance.now() - began) / 1000) / ROUNDS;
    busy.push(...result);
    loads.push(load);
  }
} finally {
  await cloud.dispose();
}

const over = (pick: (load: LoadFigures) => number) => median(loads.map(pick));
const rows = [
  ["reads a second, answered", over((load) => load.rate).toFixed(0)],
  ["a read, median (ms)", over((load) => load.median).toFixed(1)],
  ["a read, 99 of 100 (ms)", over((load) => load.p99).toFixed(1)],
  ["a read, the slowest (ms)", Math.max(...loads.map(({ worst }) => worst)).toFixed(0)],
  ["cores that the control plane takes", cores.toFixed(2)],
  ["stop or start by the agent, without reads (ms)", median(quiet).toFixed(1)],
  ["stop or start by the agent, with them (ms)", median(busy).toFixed(1)],
  ["ratio", (median(busy) / median(quiet)).toFixed(2)],
  ...loads.flatMap(({ refused }) => [...refused].map(([what, count]) => [`refused: ${what}`, String(count)])),
];
process.stdout.write(
  `${renderTable(
    [
      { title: `${SERVERS} servers`, value: (row: readonly string[]) => row[0] ?? "" },
      { title: `median of ${ROUNDS} rounds`, value: (row) => row[1] ?? "", align: "right" },
    ],
    rows,
    process.stdout.columns ?? 120,
  )}\n`,
);
