/**
 * `npm run bench endpoints`: how long a single request, the worst within the limits, blocks all others, by endpoint. The
 * control plane's handlers run in this process over a file, without sockets, with 1,000 bare-metal nodes, 500 hosts and
 * 2,000 servers. The figure is the longest time between two event-loop ticks, the best of three runs.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setImmediate as turn } from "node:timers/promises";
import { renderTable } from "../../src/cli/ui/table.js";
import { type EndpointCase, endpointCases } from "./endpoint-cases.js";
import { type EndpointHarness, openEndpointHarness } from "./endpoint-world.js";

/** Max milliseconds for which a request may block others. */
const AIM = 100;
const RUNS = 3;

interface Row {
  readonly endpoint: string;
  readonly what: string;
  readonly response: string;
  readonly bytes: number;
  readonly held: number;
  readonly total: number;
}

/** Measures the longest blocking of the event loop during the work. */
async function longestHold(work: () => Promise<string>): Promise<{ held: number; total: number; response: string }> {
  let held = 0;
  let open = true;
  let last = performance.now();
  const watch = (async () => {
    while (open) {
      await turn();
      const now = performance.now();
      held = Math.max(held, now - last);
      last = now;
    }
  })();
  await turn();
  const start = performance.now();
  last = start;
  const response = await work();
  const total = performance.now() - start;
  await turn();
  open = false;
  await watch;
  return { held, total, response };
}

async function measure(world: EndpointHarness, { endpoint, what, ask }: EndpointCase): Promise<Row> {
  const request = ask(world);
  const results = [];
  for (let run = 0; run < RUNS; run += 1) {
    results.push(await longestHold(() => world.send(endpoint, request)));
  }
  const best = results.reduce((left, right) => (right.held < left.held ? right : left));
  return { endpoint, what, bytes: request.body.length + request.query.length, ...best };
}

const only = process.argv[2];
const folder = await mkdtemp(join(tmpdir(), "bench-doors-"));
const rows: Row[] = [];
try {
  const world = await openEndpointHarness(folder);
  for (const each of endpointCases()) {
    if (only === undefined || each.endpoint === only) {
      rows.push(await measure(world, each));
    }
  }
  await world.stop();
} finally {
  await rm(folder, { recursive: true, force: true });
}
const late = rows.filter(({ held }) => held > AIM);
process.stdout.write(
  `${renderTable<Row>(
    [
      { title: "door", value: ({ endpoint }) => endpoint },
      { title: "what", value: ({ what }) => what },
      { title: "bytes", value: ({ bytes }) => bytes.toLocaleString("en"), align: "right" },
      { title: "answer", value: ({ response }) => response },
      { title: "held, ms", value: ({ held }) => held.toFixed(1), align: "right" },
      { title: "in all, ms", value: ({ total }) => total.toFixed(0), align: "right" },
    ],
    rows,
    120,
  )}\naim: no door holds the loop for more than ${AIM} ms; ${late.length} of ${rows.length} do\n`,
);
process.exitCode = late.length === 0 ? 0 : 1;
