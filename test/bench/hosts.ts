/**
 * `npm run bench hosts`: cost of many hosts: start, memory, idle processor time, boots, kill and restart, moves over 100
 * of them, and the effect of a misbehaving host on its pool. The control plane is a separate process. The pool of all
 * hosts is in this one, on the default fake-libvirt driver without delays.
 *
 *     npm run bench hosts -- --hosts 10000 --json
 *
 * Hosts and moves create files. On an ext4 file system from which many files were removed within minutes, creation is
 * twenty times slower, and moves take 1.5 times as long. `TMPDIR=/dev/shm` shows the cost of the programs alone.
 */
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { renderTable } from "../../src/cli/ui/table.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { measureKill, measureNeighbours } from "./hosts-faults.js";
import { type Figure, measureHosts } from "./hosts-figures.js";
import { BenchHosts } from "./moves-hosts.js";
import { MovesBench } from "./moves-run.js";

const MOVES_HOSTS = 100;
const NEIGHBOURS = 1000;
const MOVES_AIMED = ["cold migration", "live migration", "evacuation"];

const { values } = parseArgs({
  options: {
    hosts: { type: "string", default: "1000" },
    /** Seconds before and during the measurement of idle hosts; 0 skips it. */
    settle: { type: "string", default: "60" },
    idle: { type: "string", default: "60" },
    /** 0 for none. */
    servers: { type: "string", default: "300" },
    /** Number of moved servers, 0 for none. A third of the first few hundred moves is V8's compilation. */
    moves: { type: "string", default: "1000" },
    "no-faults": { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});
const hosts = Number(values.hosts);
const settle = Number(values.settle);
const idle = Number(values.idle);
const servers = Number(values.servers);
const moves = Number(values.moves);
const report = (text: string) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);

/** Removed at the end, since ext4 checks all recently deleted inodes for each file that it creates. */
const ended: LocalCloud[] = [];

async function withHosts(count: number, work: (cloud: LocalCloud, pool: BenchHosts) => Promise<readonly Figure[]>) {
  const cloud = await LocalCloud.start();
  ended.push(cloud);
  const pool = new BenchHosts(count);
  try {
    return await work(cloud, pool);
  } finally {
    report(`${count} hosts are stopped`);
    await pool.dispose();
    // A regular exit writes the profile of --cpu-prof.
    await cloud.controlPlane.stop();
  }
}

async function measureAll(): Promise<readonly Figure[]> {
  try {
    const many = await withHosts(hosts, async (cloud, pool) => [
      ...(await measureHosts(cloud, pool, { settle, idle, servers, report })),
      ...(values["no-faults"] ? [] : await measureKill(cloud, pool, servers, report)),
    ]);
    const moved = moves === 0 ? [] : await withHosts(MOVES_HOSTS, measureMoves);
    const faults = values["no-faults"] ? [] : await measureNeighbours(Math.min(hosts, NEIGHBOURS), report);
    return [...many, ...moved, ...faults];
  } finally {
    await Promise.all(ended.map((cloud) => cloud.dispose()));
  }
}

async function measureMoves(cloud: LocalCloud, pool: BenchHosts): Promise<readonly Figure[]> {
  report(`${moves} servers are moved over ${MOVES_HOSTS} hosts`);
  // Garbage of the previous hosts would otherwise be collected during the moves.
  global.gc?.();
  await pool.start(cloud);
  const bench = new MovesBench(cloud, pool, moves, (operation) => report(`  ${operation}`));
  await bench.run();
  return bench.figures.flatMap(({ operation, perSecond, agents, controlPlane }): readonly Figure[] => [
    {
      what: `${operation}, ${MOVES_HOSTS} hosts`,
      unit: "a second",
      value: perSecond,
      ...(MOVES_AIMED.includes(operation) ? { aim: { least: 200 } } : {}),
    },
    { what: `${operation}: agents' CPU`, unit: "ms", value: agents },
    { what: `${operation}: control plane's CPU`, unit: "ms", value: controlPlane },
  ]);
}

const [busy = 0] = loadavg();
const figures = await measureAll();
const show = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);

function aimOf({ aim }: Figure): string {
  const { most, least } = aim ?? {};
  return most === undefined ? (least === undefined ? "" : `>= ${show(least)}`) : `<= ${show(most)}`;
}

process.stdout.write(
  values.json
    ? `${JSON.stringify({ hosts, servers, moves, busy, figures }, undefined, 2)}\n`
    : `${hosts} hosts, ${servers} servers; ${busy.toFixed(1)} processes were running before, and took their share:\n${renderTable(
        [
          { title: "what", value: ({ what }: Figure) => what },
          { title: "found", value: ({ value }) => show(value), align: "right" },
          { title: "unit", value: ({ unit }) => unit },
          { title: "aim", value: aimOf, align: "right" },
        ],
        figures,
        80,
      )}\n`,
);
