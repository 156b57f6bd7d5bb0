/**
 * `npm run bench ironic`: first and unchanged passes of one agent with the ironic driver on the real Ironic and the real
 * Placement. Ratios compare with figures of the same run: the bare listing of nodes, and the three bare writes that a
 * provider needs. Figures of Debian's nova are next to them. `--nodes 1000,5000` selects the sizes. `--with-nova` runs
 * nova's own code over the same Ironic if `../shared/peers/ironic` has it, which takes many minutes.
 */
import { loadavg } from "node:os";
import { performance } from "node:perf_hooks";
import { openStore } from "../../src/control-plane/store/open-store.js";
import { UndiciHttpClient } from "../../src/runtime/node/undici-http-client.js";
import { TrackerWorld } from "../fixtures/tracker-world.js";
import { BenchHypervisor } from "./ironic-hypervisor.js";
import { type NovaPass, novaIsHere, novaPasses, RECORDED } from "./ironic-nova.js";
import { bareWrites } from "./ironic-placement.js";
import { bareListing, ironicIsInstalled, startIronic } from "./ironic-servers.js";
import { realDatabase, startReal } from "./placement-servers.js";

const AIM = { listings: 1.5, requests: 10, kilobytes: 20 };
/**
 * Number of alternating repetitions of fast measurements. The fastest counts, since other load on the machine only adds
 * time.
 */
const REPEATS = 9;
/** Number of providers in the measurement of bare writes. */
const SAMPLE = 300;
const CONNECTIONS = 8;

interface Measured {
  readonly nodes: number;
  readonly seconds: number;
  /** Processor time of the agent itself. */
  readonly own: number;
  readonly placement: number;
  readonly ironic: number;
  readonly kilobytes: number;
}

interface Row extends Measured {
  readonly pass: string;
  /** Seconds of the bare work. */
  readonly bare: number;
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

function heapKb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1024;
}

async function measure(ironic: string, placement: string, nodes: number): Promise<Row[]> {
  const world = await TrackerWorld.create(1, {
    checked: false,
    open: ({ runtime }) => openStore({ path: ":memory:", runtime }),
  });
  const http = new UndiciHttpClient();
  const hypervisor = new BenchHypervisor(http, ironic);
  const agent = await world.agent("bench", hypervisor, { http, endpoint: placement, watched: false });
  const heap = heapKb();
  const pass = async (startup: boolean): Promise<Measured> => {
    hypervisor.requests = 0;
    const began = process.cpuUsage();
    const seconds = await timed(() => agent.tracker.updateAvailableResource({ startup }));
    const { user, system } = process.cpuUsage(began);
    const requests = agent.http.take().length;
    agent.session.calls.length = 0;
    const kilobytes = (heapKb() - heap) / nodes;
    return { nodes, seconds, own: (user + system) / 1e6, placement: requests, ironic: hypervisor.requests, kilobytes };
  };
  const assertPassSucceeded = (): void => {
    const failed = world.runtime.logs.find(({ level }) => level === "error");
    if (failed) {
      throw new Error(`a pass failed: ${failed.message} ${String(failed.fields.err)}`);
    }
    if (agent.tracker.nodes().size !== nodes) {
      throw new Error(`${agent.tracker.nodes().size} nodes are tracked`);
    }
  };

  const bareFirst = async () => (await bareWrites(placement, SAMPLE, CONNECTIONS)) * nodes;
  const before = await bareFirst();
  const first = await pass(true);
  const rows: Row[] = [{ ...first, pass: "first", bare: (before + (await bareFirst())) / 2 }];
  await pass(false);
  let bare = Number.POSITIVE_INFINITY;
  let unchanged: Measured | undefined;
  for (let turn = 0; turn < REPEATS; turn += 1) {
    bare = Math.min(bare, await timed(() => bareListing(ironic)));
    const measured = await pass(false);
    if (!unchanged || measured.seconds < unchanged.seconds) {
      unchanged = measured;
    }
  }
  assertPassSucceeded();
  if (unchanged) {
    rows.push({ ...unchanged, pass: "unchanged", bare });
  }
  await http.close();
  return rows;
}

const COLUMNS = [7, 11, 10, 9, 11, 9, 16, 8, 9] as const;
const cells = (values: readonly string[]): string => values.map((text, i) => text.padStart(COLUMNS[i] ?? 9)).join("");

function show({ nodes, pass, seconds, own, placement, ironic, bare, kilobytes }: Row): void {
  const work = `${bare.toFixed(2)} ${pass === "first" ? "writes" : "listing"}`;
  const ratio = (seconds / bare).toFixed(2);
  print(
    cells([
      `${nodes}`,
      pass,
      seconds.toFixed(2),
      own.toFixed(2),
      `${placement}`,
      `${ironic}`,
      work,
      `${ratio}x`,
      kilobytes.toFixed(1),
    ]),
  );
}

function against(rows: readonly Row[], nova: readonly (NovaPass | undefined)[], whence: string): void {
  for (const [at, row] of rows.filter(({ nodes }) => nodes === RECORDED.nodes).entries()) {
    const theirs = nova[at];
    if (!theirs) {
      continue;
    }
    print(
      `nova 26.2, ${row.nodes} nodes, ${row.pass} pass, ${whence}: ${theirs.seconds} s, ${theirs.requests} requests to Placement: ` +
        `${(theirs.seconds / row.seconds).toFixed(0)} times our seconds, ${(theirs.requests / row.placement).toFixed(1)} times our requests`,
    );
  }
}

function sizes(): number[] {
  const at = process.argv.indexOf("--nodes");
  return (at < 0 ? "1000,5000" : (process.argv[at + 1] ?? "")).split(",").map(Number);
}

async function main(): Promise<void> {
  const database = realDatabase();
  if (!ironicIsInstalled() || database === undefined) {
    return print("not measured: apt-get install ironic-api ironic-conductor mariadb-server placement-api gunicorn");
  }
  const ironic = await startIronic();
  try {
    print(`the real Ironic and the real Placement, 2 workers each, ${database}; load ${loadavg()[0]?.toFixed(1)}`);
    print(cells(["nodes", "pass", "seconds", "own CPU", "Placement", "Ironic", "bare seconds", "ratio", "KB/node"]));
    const rows: Row[] = [];
    let enrolled = 0;
    for (const nodes of sizes()) {
      await ironic.enrol(enrolled, nodes - enrolled);
      enrolled = nodes;
      const placement = await startReal(database, { providers: 0, consumers: 0 });
      try {
        const measured = await measure(ironic.url, placement.url, nodes);
        for (const row of measured) {
          show(row);
        }
        rows.push(...measured);
      } finally {
        await placement.stop();
      }
    }
    print(
      `aims: the first pass takes no longer than its writes, ${CONNECTIONS} at a time; an unchanged one ${AIM.listings} times the bare ` +
        `listing and ${AIM.requests} requests to Placement; under ${AIM.kilobytes} KB a node. Load ${loadavg()[0]?.toFixed(1)}`,
    );
    against(rows, [RECORDED.first, RECORDED.unchanged], "recorded");
    if (process.argv.includes("--with-nova")) {
      await beside(ironic, rows, database);
    }
  } finally {
    await ironic.stop();
  }
}

async function beside(
  ironic: Awaited<ReturnType<typeof startIronic>>,
  rows: readonly Row[],
  database: "sqlite" | "mariadb",
): Promise<void> {
  if (!novaIsHere()) {
    return print("nova's own pass is not here: it needs ../shared/peers/ironic and python3-nova");
  }
  const placement = await startReal(database, { providers: 0, consumers: 0 });
  try {
    const passes = await novaPasses(ironic.state, ironic.url, placement.url, RECORDED.nodes);
    against(rows, passes.slice(-2), "in this run");
  } finally {
    await placement.stop();
  }
}

await main();
