/**
 * `npm run bench start`: the time until an agent has its service up and its inventory in Placement, its memory, and the
 * duration of `compute-agent up --hosts 3`. It uses real processes. Each figure is the median of the runs with its
 * range, next to that of a real nova-compute with its fake driver on a machine of this size (2 cores).
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { renderTable } from "../../src/cli/ui/table.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import { Program } from "../process/support/program.js";

const RUNS = 7;
const NOVA = { startSeconds: 3.39, memoryMb: 152.4 };

async function seconds(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

/** Returns a process's resident set in MB. */
async function memoryMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(status.match(/VmRSS:\s+(\d+) kB/)?.[1] ?? 0) / 1024;
}

function summary(values: readonly number[], digits: number): { median: number; text: string } {
  const sorted = [...values].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const show = (value: number | undefined) => (value ?? 0).toFixed(digits);
  return { median, text: `${show(median)}  (${show(sorted[0])} to ${show(sorted.at(-1))})` };
}

async function agents(): Promise<{ start: number[]; memory: number[] }> {
  const cloud = await LocalCloud.start();
  const operator = new Operator(cloud);
  await cloud.authenticate();
  const start: number[] = [];
  const memory: number[] = [];
  try {
    for (let run = 0; run < RUNS; run += 1) {
      const host = `bench${run}`;
      let pid = 0;
      start.push(
        await seconds(async () => {
          const agent = await cloud.startAgent(host, { wait: false });
          pid = agent.pid;
          await cloud.eventually(
            () => operator.service(host),
            (service) => String(service.state) === "up",
          );
          const { uuid } = await cloud.eventually(
            () => operator.provider(host),
            (provider) => provider.generation >= 2,
          );
          await cloud.eventually(
            () => cloud.placement("GET", `/resource_providers/${uuid}/traits`),
            (response) => Object.keys(response.body.traits ?? {}).length > 0,
          );
        }),
      );
      memory.push(await memoryMb(pid));
    }
  } finally {
    await cloud.dispose();
  }
  return { start, memory };
}

async function up(): Promise<number[]> {
  const times: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const directory = await mkdtemp(join(tmpdir(), "compute-agent-bench-"));
    let cluster: Program | undefined;
    times.push(
      await seconds(async () => {
        cluster = new Program("compute-cluster", ["up", "--hosts", "3", "--port", "0", "--state-dir", directory]);
        await cluster.printed(/Point a client at it/);
      }),
    );
    await cluster?.stop();
    await rm(directory, { recursive: true, force: true });
  }
  return times;
}

const one = await agents();
const three = await up();
const start = summary(one.start, 2);
const memory = summary(one.memory, 0);
const rows = [
  {
    what: "agent: exec to service up, inventory and traits in Placement (s)",
    ours: start.text,
    nova: NOVA.startSeconds.toFixed(2),
    ratio: (start.median / NOVA.startSeconds).toFixed(2),
  },
  {
    what: "agent: memory, resident (MB)",
    ours: memory.text,
    nova: NOVA.memoryMb.toFixed(0),
    ratio: (memory.median / NOVA.memoryMb).toFixed(2),
  },
  {
    what: "compute-agent up --hosts 3, until all are ready (s)",
    ours: summary(three, 2).text,
    nova: "-",
    ratio: "-",
  },
];
process.stdout.write(
  `${renderTable(
    [
      { title: "what", value: (row: (typeof rows)[number]) => row.what },
      { title: `median of ${RUNS} (range)`, value: (row) => row.ours, align: "right" },
      { title: "nova-compute", value: (row) => row.nova, align: "right" },
      { title: "ratio", value: (row) => row.ratio, align: "right" },
    ],
    rows,
    process.stdout.columns ?? 120,
  )}\n`,
);
