/**
 * `npm run bench audit`: `compute-agent audit` of a cloud with 1,000 hosts and 10,000 servers, healthy and with
 * orphaned consumers. Control plane and audit are separate processes. The seconds are those of the audit, including its
 * start.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { renderTable } from "../../src/cli/ui/table.js";
import { fillCloud, type Size } from "../fixtures/large-cloud.js";
import { Program } from "../process/support/program.js";

const AIM = { hosts: 1_000, servers: 10_000, seconds: 5 };
const RUNS = 3;
const SIZES: readonly Size[] = [
  { hosts: 100, servers: 1_000, orphans: 0 },
  { hosts: AIM.hosts, servers: AIM.servers, orphans: 0 },
  { hosts: AIM.hosts, servers: AIM.servers, orphans: 500 },
];

interface Row extends Size {
  readonly what: string;
  readonly seconds: readonly number[];
}

async function audit(stateDir: string, { orphans = 0 }: Size, more: readonly string[]): Promise<number> {
  const start = performance.now();
  const program = new Program("compute-cluster", [
    "audit",
    "--nova-manage-exit-codes",
    "--state-dir",
    stateDir,
    "--json",
    ...more,
  ]);
  const { code } = await program.exited;
  const seconds = (performance.now() - start) / 1000;
  if (code !== (orphans === 0 ? 0 : 3)) {
    throw new Error(`the audit ended with ${code}: ${program.stderr}`);
  }
  return seconds;
}

async function measure(size: Size): Promise<Row[]> {
  const stateDir = await mkdtemp(join(tmpdir(), "bench-audit-"));
  let controlPlane: Program | undefined;
  try {
    await fillCloud(join(stateDir, "state.sqlite"), size);
    controlPlane = new Program("compute-cluster", ["control-plane", "--state-dir", stateDir, "--port", "0"]);
    await controlPlane.printed(/listening on (http:\S+)/);
    const rows: Row[] = [];
    for (const [what, more] of [
      ["audit", []],
      ["audit --thorough", ["--thorough"]],
    ] as const) {
      const seconds: number[] = [];
      for (let run = 0; run < RUNS; run += 1) {
        seconds.push(await audit(stateDir, size, more));
      }
      rows.push({ ...size, what, seconds });
    }
    return rows;
  } finally {
    await controlPlane?.kill();
    await rm(stateDir, { recursive: true, force: true });
  }
}

const rows: Row[] = [];
for (const size of SIZES) {
  rows.push(...(await measure(size)));
}
const count = (value: number): string => value.toLocaleString("en");
const table = renderTable<Row>(
  [
    { title: "what", value: ({ what }) => what },
    { title: "hosts", value: ({ hosts }) => count(hosts), align: "right" },
    { title: "servers", value: ({ servers }) => count(servers), align: "right" },
    { title: "orphans", value: ({ orphans = 0 }) => count(orphans), align: "right" },
    { title: `seconds, ${RUNS} runs`, value: ({ seconds }) => seconds.map((each) => each.toFixed(2)).join(" ") },
  ],
  rows,
  100,
);
process.stdout.write(
  `${table}\naim: ${count(AIM.hosts)} hosts and ${count(AIM.servers)} servers in under ${AIM.seconds} s\n`,
);
