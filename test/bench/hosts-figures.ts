import { readFile } from "node:fs/promises";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import PQueue from "p-queue";
import type { Json } from "../process/support/cloud.js";
import type { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import type { BenchHosts } from "./moves-hosts.js";
import { pacedBoots } from "./paced-boots.js";
import { cpuOf, cpuSince } from "./processes.js";

export interface Figure {
  readonly what: string;
  readonly unit: string;
  readonly value: number;
  /** The target: a maximum or a minimum. */
  readonly aim?: { readonly most?: number; readonly least?: number };
}

export interface Phases {
  /** Seconds between the last host's start and the measurement: the fuzzy delay of the periodic tasks. */
  readonly settle: number;
  /** Seconds of measuring idle hosts. A minute contains one run of each periodic task of every host. */
  readonly idle: number;
  readonly servers: number;
  readonly report: (text: string) => void;
}

/** Boots per second while schedules are timed, half of the target rate. */
const PACE = 75;

/** Measures the cost of many hosts at start and at rest, and of servers on them. */
export async function measureHosts(cloud: LocalCloud, hosts: BenchHosts, phases: Phases): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  const count = hosts.names.length;
  const add = (what: string, unit: string, value: number, aim?: Figure["aim"]) =>
    figures.push({ what, unit, value, ...(aim === undefined ? {} : { aim }) });
  const { pid } = cloud.controlPlane;
  await cloud.authenticate();
  const [before, planeBefore, started] = [memory(), await residentKb(pid), performance.now()];
  const cpu = await cpuOf(pid);
  await hosts.start(cloud, (serving) => serving % 100 === 0 && phases.report(`${serving} of ${count} hosts serve`));
  const elapsed = (performance.now() - started) / 1000;
  const spent = cpuSince(await cpuOf(pid), cpu);
  add("start: first hello to all serving", "s", elapsed, { most: count > 1000 ? count / 333 : 1.5 });
  add("start of a host: agents' CPU", "ms", (spent.agents * 1000) / count);
  add("start of a host: control plane's CPU", "ms", (spent.controlPlane * 1000) / count);
  const { frames, requests } = hosts.counts;
  add("start of a host: frames of the conductor", "", frames / count);
  add("start of a host: Placement requests", "", requests / count);
  const after = memory();
  add("a host in agents: heap", "kB", (after.heap - before.heap) / count, { most: 30 });
  add("a host in agents: resident", "kB", (after.resident - before.resident) / count, { most: 80 });
  const plane = await residentKb(pid);
  add("a host in the control plane: resident", "kB", (plane - planeBefore) / count);
  add("agents and control plane: resident", "MB", (after.resident + plane) / 1024);
  await measureIdle(cloud, hosts, phases, add);
  if (phases.servers > 0) {
    await measureBoots(cloud, phases, add);
  }
  return figures;
}

type Add = (what: string, unit: string, value: number, aim?: Figure["aim"]) => void;

async function measureIdle(
  { controlPlane: { pid } }: LocalCloud,
  hosts: BenchHosts,
  { settle, idle, report }: Phases,
  add: Add,
): Promise<void> {
  if (idle === 0) {
    return;
  }
  report(`all hosts are left alone for ${settle} s, and watched for ${idle} s`);
  await pause(settle * 1000);
  const [from, counts] = [await cpuOf(pid), hosts.counts];
  const start = performance.now();
  await pause(idle * 1000);
  const seconds = (performance.now() - start) / 1000;
  const { agents, controlPlane } = cpuSince(await cpuOf(pid), from);
  add("idle: agents' CPU, of one core", "%", (agents / seconds) * 100);
  add("idle: control plane's CPU, of one core", "%", (controlPlane / seconds) * 100);
  add("idle: both", "%", ((agents + controlPlane) / seconds) * 100, { most: 25 });
  add(
    "idle: frames a host and minute",
    "",
    ((hosts.counts.frames - counts.frames) / hosts.names.length / seconds) * 60,
  );
  add(
    "idle: Placement requests a host and minute",
    "",
    ((hosts.counts.requests - counts.requests) / hosts.names.length / seconds) * 60,
  );
}

async function measureBoots(cloud: LocalCloud, { servers, report }: Phases, add: Add): Promise<void> {
  const operator = new Operator(cloud);
  const imageRef = await operator.image();
  const boot = async (name: string) => {
    const server = { name, flavorRef: "1", imageRef, networks: "none" };
    const response = await cloud.compute("POST", "/servers", { server });
    if (response.status !== 202) {
      throw new Error(`boot: ${response.status} ${JSON.stringify(response.body)}`);
    }
    return String(response.body.server?.id);
  };
  report(`${servers} servers are booted at once`);
  const [from, start] = [await cpuOf(cloud.controlPlane.pid), performance.now()];
  const ids = await new PQueue({ concurrency: 16 }).addAll(
    Array.from({ length: servers }, (_, index) => () => boot(`together${index}`)),
  );
  // A cheap query, since its own cost is included.
  await cloud.eventually(
    async () => Object.values<Json>((await cloud.compute("GET", "/servers?status=BUILD&limit=1")).body.servers ?? {}),
    (building) => building.length === 0,
  );
  add("boots", "a second", servers / ((performance.now() - start) / 1000), { least: 150 });
  const spent = cpuSince(await cpuOf(cloud.controlPlane.pid), from);
  add("a boot: control plane's CPU", "ms", (spent.controlPlane * 1000) / servers);
  await operator.serversIn(ids, "ACTIVE");
  report(`${servers} servers are booted, ${PACE} a second`);
  const before = await scheduled(cloud);
  const waits = await pacedBoots({
    url: `${cloud.url}/compute/v2.1`,
    token: await cloud.token(),
    imageRef,
    servers,
    perSecond: PACE,
  });
  const after = await cloud.eventually(
    () => scheduled(cloud),
    (found) => found.all === before.all + servers,
  );
  add(`${PACE} boots a second: accepted, p99`, "ms", waits[Math.ceil(servers * 0.99) - 1] ?? 0);
  const share = (after.soon - before.soon) / servers;
  add(`${PACE} boots a second: scheduled within 25 ms`, "%", share * 100, { least: 99 });
}

/** Returns the number of builds that were scheduled and claimed since the first call, and how many of these within 25 ms. */
async function scheduled(cloud: LocalCloud): Promise<{ readonly all: number; readonly soon: number }> {
  const text = String((await cloud.request("GET", "/metrics")).body.text);
  const sampleOf = (series: string) => {
    const name = `compute_cluster_task_duration_seconds_${series}`;
    return Number(
      text
        .split("\n")
        .find((line) => line.startsWith(name))
        ?.split(" ")[1] ?? Number.NaN,
    );
  };
  return {
    all: sampleOf('count{kind="build_instances"}'),
    soon: sampleOf('bucket{le="0.025",kind="build_instances"}'),
  };
}

/** Returns kilobytes after a garbage collection. */
function memory(): { readonly heap: number; readonly resident: number } {
  global.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed / 1024, resident: rss / 1024 };
}

async function residentKb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(status.match(/VmRSS:\s+(\d+) kB/)?.[1] ?? 0);
}
