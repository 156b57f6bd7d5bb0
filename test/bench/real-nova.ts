/**
 * `npm run bench real-nova`: our agents and real nova-computes (nova's fake driver), one after the other under the same
 * real Nova. It measures start time, memory, the time for fifty servers over three hosts, and requests to the conductor.
 * All figures are from the same run; the ratio counts. Requires what `test/peers/real-nova` requires. The default is 20
 * hosts and 50 servers, to which the targets apply; a smaller run is `--runs 1 --hosts 4 --servers 12 --fleet 10`.
 */
import { loadavg } from "node:os";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { renderTable } from "../../src/cli/ui/table.js";
import { RealNova } from "../peers/real-nova/real-nova.js";
import { idle } from "../peers/real-nova/waiting.js";
import { NovaCalls } from "./nova-calls.js";
import { type BenchComputes, OurComputes, OurProcesses, RealComputes } from "./nova-computes.js";
import { groupMembers, type Usage, usageOf } from "./processes.js";

const { values } = parseArgs({
  options: {
    runs: { type: "string", default: "3" },
    hosts: { type: "string", default: "20" },
    servers: { type: "string", default: "50" },
    fleet: { type: "string", default: "100" },
  },
});
const RUNS = Number(values.runs);
const MANY = Number(values.hosts);
const SERVERS = Number(values.servers);
const FLEET = Number(values.fleet);
/** Milliseconds of measuring periodic tasks. */
const IDLE = 60_000;
/** Milliseconds of counting heartbeats. */
const BEATING = 30_000;

interface Row {
  readonly what: string;
  readonly ours: string;
  readonly real: string;
  /** Ours divided by theirs. */
  readonly ratio: string;
  readonly aim: string;
}

/** A maximum for ours, as a value or as a share of real nova-computes' value. */
type Aim = { readonly most: number } | { readonly ratio: number };

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const rows: Row[] = [];

function compare(what: string, ours: number, real: number, { digits = 2, aim }: Comparison = {}): void {
  const aimText = aim === undefined ? "" : describeAim(aim, ours, real);
  rows.push({
    what,
    ours: ours.toFixed(digits),
    real: real.toFixed(digits),
    ratio: (ours / real).toFixed(2),
    aim: aimText,
  });
  print(`${what}: ${ours.toFixed(digits)}, ${real.toFixed(digits)}${aimText === "" ? "" : ` (aim ${aimText})`}`);
}

/** Adds a row without a counterpart of real nova-compute. */
function alone(what: string, ours: number): void {
  rows.push({ what, ours: ours.toFixed(1), real: "", ratio: "", aim: "" });
  print(`${what}: ${ours.toFixed(1)}`);
}

interface Comparison {
  readonly digits?: number;
  readonly aim?: Aim | undefined;
}

function describeAim(aim: Aim, ours: number, real: number): string {
  const isMet = "most" in aim ? ours <= aim.most : ours <= aim.ratio * real;
  const text = "most" in aim ? `<= ${aim.most}` : `<= ${aim.ratio} of theirs`;
  return isMet ? text : `${text}: missed`;
}

/** Returns the target if the count is the one that it was set for. */
function of(count: number, expectedCount: number, aim: Aim): Aim | undefined {
  return count === expectedCount ? aim : undefined;
}

/** Targets by phase of {@link callsOf}. */
const CALL_AIMS: Readonly<Record<string, Aim>> = {
  "start of a known host": { most: 10 },
  build: { most: 8 },
  "build, first to last call (ms)": { most: 300 },
  "cold migration, both hosts": { most: 20 },
  "live migration, both hosts": { most: 25 },
  delete: { most: 6 },
};

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

interface Start {
  readonly seconds: number;
  readonly usage: Usage;
}

/** Measures from the start until all hosts have an inventory, then removes them. */
async function start(computes: BenchComputes, hosts: readonly string[]): Promise<Start> {
  const taken = (await computes.start(hosts)) / 1000;
  // The first periodic task has finished by then.
  await pause(3_000);
  const usage = await usageOf(await computes.pids());
  await computes.dispose();
  return { seconds: taken, usage };
}

async function starts(ours: BenchComputes, ourProcesses: BenchComputes, real: BenchComputes): Promise<void> {
  const names = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name}${index}`);
  const one: { ours: Start[]; real: Start[] } = { ours: [], real: [] };
  for (let run = 0; run < RUNS; run += 1) {
    one.ours.push(await start(ourProcesses, names(`o${run}x`, 1)));
    one.real.push(await start(real, names(`r${run}x`, 1)));
  }
  const middle = (found: readonly Start[], pick: (each: Start) => number) => median(found.map(pick));
  compare(
    "one: from its start to its inventory in Placement (s)",
    middle(one.ours, (each) => each.seconds),
    middle(one.real, (each) => each.seconds),
    { aim: { most: 0.5 } },
  );
  compare(
    "one: memory (MB)",
    middle(one.ours, ({ usage }) => usage.memory),
    middle(one.real, ({ usage }) => usage.memory),
    { digits: 0, aim: { most: 80 } },
  );
  const pooled = await start(ours, names("t", MANY));
  const apart = await start(ourProcesses, names("p", MANY));
  const theirs = await start(real, names("n", MANY));
  const forTwenty = (most: number) => ({ aim: of(MANY, 20, { most }) });
  compare(`${MANY} in one process: until all have an inventory (s)`, pooled.seconds, theirs.seconds, forTwenty(3));
  compare(`${MANY} in one process: memory (MB)`, pooled.usage.memory, theirs.usage.memory, {
    digits: 0,
    ...forTwenty(150),
  });
  compare(`${MANY} processes: until all have an inventory (s)`, apart.seconds, theirs.seconds, forTwenty(8));
  compare(`${MANY} processes: memory (MB)`, apart.usage.memory, theirs.usage.memory, { digits: 0 });
}

interface Servers {
  readonly seconds: number;
  readonly computes: number;
  readonly conductor: number;
  readonly deletes: number;
}

async function fifty(nova: RealNova, computes: BenchComputes): Promise<Servers> {
  const hosts = ["f0", "f1", "f2"].map((name) => `${computes.name}-${name}`);
  await computes.start(hosts);
  await nova.discover();
  const cpu = async () => ({
    computes: (await usageOf(await computes.pids())).cpu,
    conductor: (await usageOf(await groupMembers([await nova.processOf("nova-conductor")]))).cpu,
  });
  const before = await cpu();
  let ids: readonly string[] = [];
  const taken = await seconds(async () => {
    ids = await Promise.all(
      Array.from({ length: SERVERS }, (_, index) => nova.operator.boot(`s${index}`, { host: hosts[index % 3] ?? "" })),
    );
    await nova.operator.serversIn(ids, "ACTIVE");
  });
  const after = await cpu();
  const deletes = await seconds(async () => {
    await Promise.all(ids.map((id) => nova.compute("DELETE", `/servers/${id}`)));
    await Promise.all(ids.map((id) => nova.gone(id)));
  });
  await computes.dispose();
  return {
    seconds: taken,
    computes: after.computes - before.computes,
    conductor: after.conductor - before.conductor,
    deletes,
  };
}

/** Runs hosts that send a heartbeat each second, as many writes as ten times as many hosts with nova-compute's interval. */
async function beats(nova: RealNova, hosts: number): Promise<void> {
  const computes = new OurComputes(nova, "[DEFAULT]\nreport_interval = 1\n");
  await computes.start(Array.from({ length: hosts }, (_, index) => `beat${index}`));
  const saved = async () => {
    const [sum] = await nova.plane.rows("select sum(report_count) from nova_cell1.services where host like 'beat%'");
    return Number(sum);
  };
  const conductor = async () => (await usageOf(await groupMembers([await nova.processOf("nova-conductor")]))).cpu;
  const used = async () => (await usageOf(await computes.pids())).cpu;
  const before = { saved: await saved(), conductor: await conductor(), used: await used() };
  const taken = await seconds(() => pause(BEATING));
  const counted = (await saved()) - before.saved;
  alone(`${hosts} hosts that beat each second: saves a second`, counted / taken);
  alone("processor of the conductor a save (ms)", (((await conductor()) - before.conductor) / counted) * 1000);
  alone("processor of the agents a save (ms)", (((await used()) - before.used) / counted) * 1000);
  await computes.stop([]);
}

type Calls = Readonly<Record<string, number>>;

async function callsOf(nova: RealNova, computes: BenchComputes, recorded: NovaCalls): Promise<Calls> {
  const [first = "", second = ""] = ["c0", "c1"].map((name) => `${computes.name}-${name}`);
  await computes.start([first, second]);
  await nova.discover();
  const calls: Record<string, number> = {};
  const count = async (phase: string, work: () => Promise<unknown>) => {
    const userCalls = await recorded.forUsers(work);
    calls[phase] = userCalls.length;
    return userCalls;
  };
  const countAll = async (phase: string, work: () => Promise<unknown>, after: number) => {
    calls[phase] = (await recorded.during(work, after)).length;
  };
  await computes.stop([second]);
  await countAll("start of a known host", () => computes.startAgain([second]), 20_000);
  let id = "";
  const built = await count("build", async () => {
    id = await nova.operator.boot("counted", { host: first });
    await idle(nova, id, "ACTIVE");
  });
  calls["build, first to last call (ms)"] = Math.round(((built.at(-1)?.t ?? 0) - (built[0]?.t ?? 0)) * 1000);
  await count("cold migration, both hosts", async () => {
    await nova.act(id, { migrate: { host: second } });
    await idle(nova, id, "VERIFY_RESIZE");
  });
  await count("its confirmation", async () => {
    await nova.act(id, { confirmResize: null });
    await idle(nova, id, "ACTIVE");
  });
  await count("live migration, both hosts", async () => {
    await nova.act(id, { "os-migrateLive": { host: first, block_migration: "auto" } });
    await nova.migrationIn(id, "completed");
  });
  await count("delete", () => nova.remove(id));
  await countAll(`${IDLE / 1000} s of two idle hosts`, async () => {}, IDLE);
  await computes.dispose();
  return calls;
}

const [busy = 0] = loadavg();
process.env.DEBUG = "false";
const nova = await RealNova.start();
try {
  const [ours, ourProcesses, real] = [new OurComputes(nova), new OurProcesses(nova), new RealComputes(nova)];
  await starts(ours, ourProcesses, real);
  const oursFifty = await fifty(nova, ourProcesses);
  const realFifty = await fifty(nova, real);
  compare(`${SERVERS} servers over 3 hosts, all ACTIVE (s)`, oursFifty.seconds, realFifty.seconds, {
    digits: 1,
    aim: { ratio: 1 },
  });
  compare("processor time of the computes meanwhile (s)", oursFifty.computes, realFifty.computes, {
    aim: of(SERVERS, 50, { most: 1 }),
  });
  compare("processor time of the conductor meanwhile (s)", oursFifty.conductor, realFifty.conductor, {
    aim: { ratio: 0.7 },
  });
  compare(`${SERVERS} servers deleted (s)`, oursFifty.deletes, realFifty.deletes, { digits: 1 });
  const recorded = await NovaCalls.record(nova);
  const ourCalls = await callsOf(nova, ourProcesses, recorded);
  const realCalls = await callsOf(nova, real, recorded);
  await recorded.stop();
  await beats(nova, FLEET);
  for (const [phase, count] of Object.entries(ourCalls)) {
    const what = phase.endsWith("(ms)") ? phase : `conductor calls: ${phase}`;
    compare(what, count, realCalls[phase] ?? 0, { digits: 0, aim: CALL_AIMS[phase] });
  }
} finally {
  await nova.stop();
}
print(
  `\nIn one run; ${busy.toFixed(1)} processes were running before, and took their share:\n${renderTable(
    [
      { title: "what", value: ({ what }: Row) => what },
      { title: "compute-agent", value: ({ ours }) => ours, align: "right" },
      { title: "nova-compute", value: ({ real }) => real, align: "right" },
      { title: "ratio", value: ({ ratio }) => ratio, align: "right" },
      { title: "aim", value: ({ aim }) => aim },
    ],
    rows,
    140,
  )}`,
);
