/**
 * `npm run bench placement [-- --quick] [-- --no-real]`: compares the embedded Placement with Debian's real one (two
 * workers, on MariaDB, else SQLite) and with a bare node:http server that returns bodies of the same size. All use the
 * same client in the same run. Then it measures without sockets: candidates over 10,000 providers, cold start, memory.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { renderTable } from "../../src/cli/ui/table.js";
import { nodeClock } from "../../src/runtime/node/node-builtins.js";
import { nodeRandom } from "../../src/runtime/node/node-cryptography.js";
import { createNodeLogger } from "../../src/runtime/node/node-logger.js";
import { TestPlacement } from "../fixtures/world/placement.js";
import { CASES, type Case } from "./placement-cases.js";
import {
  aggregatesOf,
  allocation,
  consumerUuid,
  inventories,
  populate,
  providerName,
  providerUuid,
  traitsOf,
  type World,
} from "./placement-data.js";
import { type Effort, type Measured, measure } from "./placement-http.js";
import { realDatabase, residentMib, type Server, startCeiling, startEmbedded, startReal } from "./placement-servers.js";

const quick = process.argv.includes("--quick");
const withReal = !process.argv.includes("--no-real");
const EFFORT: Effort = quick ? { seconds: 1, requests: 2000 } : { seconds: 3, requests: 20_000 };
const REAL_EFFORT: Effort = { seconds: quick ? 2 : 5, requests: 2000 };
const WORLDS: readonly World[] = [
  { providers: 1000, consumers: 5000 },
  ...(quick ? [] : [{ providers: 10_000, consumers: 5000 }]),
];
/** Targets: a multiple of the real Placement, or a share of the ceiling if that is lower. */
const TIMES = 100;
const OF_CEILING = { read: 0.6, write: 0.5 };

interface Row {
  readonly world: World;
  readonly case: Case;
  readonly width: number;
  readonly real: Measured | undefined;
  readonly embedded: Measured;
  readonly ceiling: Measured;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

async function measureWorld(world: World, ceiling: Server): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), "bench-placement-"));
  const database = withReal ? realDatabase() : undefined;
  const embedded = await startEmbedded(folder);
  let real: Server | undefined;
  const rows: Row[] = [];
  try {
    await populate(embedded.url, world);
    print(`embedded, ${world.providers} providers: ${(await residentMib(embedded.pid)).toFixed(0)} MiB resident`);
    if (database !== undefined) {
      real = await startReal(database, world);
      print(`real one on ${database}: empty database to first answer ${(real.started / 1000).toFixed(1)} s`);
    }
    for (const each of CASES) {
      for (const width of [1, 8]) {
        const own = await measure(embedded.url, width, await each.prepare(embedded.url, world, width), EFFORT);
        const sent = each.kind === "read" ? "GET" : "PUT";
        const body = each.kind === "read" ? undefined : { inventories: inventories(0) };
        const bare = await measure(ceiling.url, width, (c) => c.send(sent, `/${own.bytes}`, body), EFFORT);
        const theirs =
          real && (await measure(real.url, width, await each.prepare(real.url, world, width), REAL_EFFORT));
        rows.push({ world, case: each, width, real: theirs, embedded: own, ceiling: bare });
        print(`  ${each.name}, ${width}: ${own.perSecond.toFixed(0)}/s`);
      }
    }
  } finally {
    await embedded.stop();
    await real?.stop();
    await rm(folder, { recursive: true, force: true });
  }
  return rows;
}

function rate(measured: Measured | undefined): string {
  if (measured === undefined) {
    return "-";
  }
  const digits = measured.perSecond < 100 ? 1 : 0;
  return measured.perSecond.toFixed(digits) + (measured.failed > 0 ? ` (${measured.failed} failed)` : "");
}

function reached(row: Row): string {
  const part = row.embedded.perSecond / row.ceiling.perSecond;
  const times = row.real === undefined ? 0 : row.embedded.perSecond / row.real.perSecond;
  return times >= TIMES || part >= OF_CEILING[row.case.kind] ? "yes" : "no";
}

function report(rows: readonly Row[]): string {
  return renderTable<Row>(
    [
      { title: "Providers", value: (row) => String(row.world.providers), align: "right" },
      { title: "Request", value: (row) => row.case.name },
      { title: "Conn.", value: (row) => String(row.width), align: "right" },
      { title: "Bytes", value: (row) => String(row.embedded.bytes), align: "right" },
      { title: "Real/s", value: (row) => rate(row.real), align: "right" },
      { title: "Embedded/s", value: (row) => rate(row.embedded), align: "right" },
      { title: "Ceiling/s", value: (row) => rate(row.ceiling), align: "right" },
      {
        title: "x real",
        value: (row) => (row.real ? (row.embedded.perSecond / row.real.perSecond).toFixed(0) : "-"),
        align: "right",
      },
      {
        title: "% of ceiling",
        value: (row) => ((100 * row.embedded.perSecond) / row.ceiling.perSecond).toFixed(0),
        align: "right",
      },
      { title: "Aim", value: reached },
    ],
    rows,
    160,
  );
}

/** Measures without sockets: 10,000 providers and 100,000 allocations in memory. */
function inProcess(): void {
  const world: World = { providers: 10_000, consumers: 100_000 / 3 };
  const before = heapMib();
  const placement = new TestPlacement({
    clock: nodeClock(),
    random: nodeRandom(),
    logger: createNodeLogger({ level: "error" }),
  });
  const send = (method: string, path: string, body?: unknown) => {
    const response = placement.send(method, path, body);
    if (response.status >= 300) {
      throw new Error(`${method} ${path}: ${response.status} ${response.body}`);
    }
    // V8 joins the pieces of a string when it is read, which is part of the response's cost.
    Buffer.byteLength(response.body);
    return response.body;
  };
  for (let n = 0; n < world.providers; n += 1) {
    const path = `/resource_providers/${providerUuid(n)}`;
    send("POST", "/resource_providers", { name: providerName(n), uuid: providerUuid(n) });
    send("PUT", `${path}/inventories`, { resource_provider_generation: 0, inventories: inventories(0) });
    send("PUT", `${path}/traits`, { resource_provider_generation: 1, traits: traitsOf(n) });
    send("PUT", `${path}/aggregates`, { resource_provider_generation: 2, aggregates: aggregatesOf(n) });
  }
  for (let n = 0; n < world.consumers; n += 1) {
    send("PUT", `/allocations/${consumerUuid(n)}`, allocation(n, world, null, 1));
  }
  print(`memory, 10,000 providers and 100,000 allocations: ${(heapMib() - before).toFixed(0)} MiB of heap`);
  const path = "/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:1&limit=1000";
  print(`in-process candidates, 10,000 providers, limit=1000: ${times(300, () => send("GET", path))}`);
  // Data changes between searches, as when instances are placed, so caches must be rebuilt.
  let n = 0;
  const busy = times(300, () => {
    for (let i = 0; i < 50; i += 1) {
      n += 1;
      send("PUT", `/allocations/${consumerUuid(500_000 + n)}`, allocation(n, world, null, 1));
    }
    return () => send("GET", path);
  });
  print(`the same after 50 new allocations each: ${busy}`);
}

/**
 * Renders median and 99th percentile in wall-clock and processor time, which differ on a busy machine. If `work` returns
 * a function, only that function is measured.
 */
function times(count: number, work: () => unknown): string {
  const wall: number[] = [];
  const computed: number[] = [];
  for (let i = 0; i < count + 20; i += 1) {
    let start = performance.now();
    let cpu = process.cpuUsage();
    const rest = work();
    if (typeof rest === "function") {
      start = performance.now();
      cpu = process.cpuUsage();
      rest();
    }
    if (i < 20) {
      continue;
    }
    wall.push(performance.now() - start);
    const used = process.cpuUsage(cpu);
    computed.push((used.user + used.system) / 1000);
  }
  return `${percentiles(wall)}; computing: ${percentiles(computed)}`;
}

function percentiles(values: number[]): string {
  const sorted = values.sort((a, b) => a - b);
  const at = (part: number) => (sorted[Math.floor(part * sorted.length)] ?? 0).toFixed(2);
  return `median ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}

function heapMib(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}

async function coldStart(): Promise<void> {
  const found: number[] = [];
  for (let i = 0; i < 7; i += 1) {
    const folder = await mkdtemp(join(tmpdir(), "bench-placement-"));
    const server = await startEmbedded(folder);
    found.push(server.started);
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
  found.sort((a, b) => a - b);
  const [fastest = 0] = found;
  print(
    `cold start, empty database: median ${(found[3] ?? 0).toFixed(0)} ms (${fastest.toFixed(0)} to ${(found.at(-1) ?? 0).toFixed(0)})`,
  );
}

inProcess();
await coldStart();
const ceiling = await startCeiling();
const rows: Row[] = [];
try {
  for (const world of WORLDS) {
    rows.push(...(await measureWorld(world, ceiling)));
  }
} finally {
  await ceiling.stop();
}
print(report(rows));
