import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import PQueue from "p-queue";
import type { Json } from "../process/support/cloud.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import { PACKAGE_ROOT, Program } from "../process/support/program.js";
import type { Figure } from "./hosts-figures.js";
import type { BenchHosts } from "./moves-hosts.js";

/** Misbehavior of one host of a pool in a spawn, while its neighbors are measured. */
const FAULTS = ["hangs", "throws", "lies"] as const;
const DRIVER = join(PACKAGE_ROOT, "test/fixtures/misbehaving-driver/index.js");
/** Number of sequential operations on neighbors. */
const NEIGHBOUR_OPERATIONS = 60;
/** Milliseconds; twice the default of `report_interval`, to include a late heartbeat. */
const HEARTBEATS = 20_000;
/** Milliseconds; two rounds of the periodic tasks. */
const AT_REST = 120_000;

/** Measures how hosts of a pool are affected by one that hangs, throws, lies or blocks the event loop. */
export async function measureNeighbours(count: number, report: (text: string) => void): Promise<readonly Figure[]> {
  const cloud = await LocalCloud.start();
  try {
    report(`${count} hosts with a driver that misbehaves when it is asked to`);
    const args = ["--compute-driver", DRIVER];
    const pool = await cloud.startAgent(`n[1-${count}]`, { args, wait: false });
    await pool.printed(new RegExp(`${count} of ${count} hosts serve`));
    const neighbours = new Neighbours(cloud, count);
    await neighbours.settle();
    const plain = await neighbours.watch();
    const figures: Figure[] = [
      { what: "neighbours: an operation, p50", unit: "ms", value: plain.median },
      { what: "neighbours: an operation, p95", unit: "ms", value: plain.late },
      { what: "neighbours: oldest heartbeat", unit: "s", value: plain.silence },
    ];
    const operator = new Operator(cloud);
    for (const [index, fault] of FAULTS.entries()) {
      report(`one ${fault}`);
      await operator.boot(fault, { host: `n${index + 1}` });
      const { median, late, silence } = await neighbours.watch();
      const aim = { most: 2 };
      figures.push(
        { what: `one ${fault}: its neighbours' operations, p50`, unit: "times", value: median / plain.median, aim },
        { what: `one ${fault}: its neighbours' operations, p95`, unit: "times", value: late / plain.late, aim },
        { what: `one ${fault}: its neighbours' oldest heartbeat`, unit: "times", value: silence / plain.silence, aim },
      );
    }
    report("one blocks the event loop for 5 s");
    const requestedAt = performance.now();
    await operator.boot("blocks", { host: "n4" });
    await pool.printed(/event loop has been blocked for \d+ s.*of host n4\b/);
    figures.push({
      what: "one blocks the loop for 5 s: named with its host after",
      unit: "s",
      value: (performance.now() - requestedAt) / 1000,
      aim: { most: 10 },
    });
    return figures;
  } finally {
    await cloud.dispose();
  }
}

interface Watched {
  readonly median: number;
  readonly late: number;
  /** Seconds. */
  readonly silence: number;
}

/** The hosts of the pool that behave correctly. */
class Neighbours {
  readonly #cloud: LocalCloud;
  readonly #operator: Operator;
  readonly #count: number;

  constructor(cloud: LocalCloud, count: number) {
    this.#cloud = cloud;
    this.#operator = new Operator(cloud);
    this.#count = count;
  }

  /** Waits until each host has sent a heartbeat since its start, and first-time code has run. */
  async settle(): Promise<void> {
    await this.#operate(10);
    await pause(HEARTBEATS);
  }

  async watch(): Promise<Watched> {
    const watched = performance.now();
    const waits = await this.#operate(NEIGHBOUR_OPERATIONS);
    let silence = 0;
    // Lasts two heartbeat intervals, regardless of the operations' duration.
    do {
      silence = Math.max(silence, await this.#oldestHeartbeat());
      await pause(1_000);
    } while (performance.now() - watched < HEARTBEATS);
    return {
      median: waits[Math.floor(NEIGHBOUR_OPERATIONS / 2)] ?? 0,
      late: waits[Math.floor(NEIGHBOUR_OPERATIONS * 0.95)] ?? 0,
      silence,
    };
  }

  /** Returns the sorted milliseconds from requests of boots until the servers are active. */
  async #operate(times: number): Promise<readonly number[]> {
    const waits: number[] = [];
    for (let index = 0; index < times; index += 1) {
      const requestedAt = performance.now();
      const id = await this.#operator.boot("good", { host: `n${5 + (index % (this.#count - 4))}` });
      while (String((await this.#operator.server(id)).status) !== "ACTIVE") {
        await pause(2);
      }
      waits.push(performance.now() - requestedAt);
      await this.#cloud.compute("DELETE", `/servers/${id}`);
    }
    return waits.sort((left, right) => left - right);
  }

  async #oldestHeartbeat(): Promise<number> {
    const { body } = await this.#cloud.compute("GET", "/os-services?binary=nova-compute");
    const services = Object.values<Json>(body.services ?? {}).filter(({ host }) => Number(String(host).slice(1)) > 4);
    const heartbeats = services.map(({ updated_at }) => Date.parse(`${updated_at}Z`));
    return (Date.now() - Math.min(...heartbeats)) / 1000;
  }
}

/** Kills all hosts at the same time during their work, and restarts them. */
export async function measureKill(
  cloud: LocalCloud,
  hosts: BenchHosts,
  servers: number,
  report: (text: string) => void,
) {
  const operator = new Operator(cloud);
  report(`${hosts.names.length} hosts are killed while they build ${servers} servers, and started again`);
  const ids = await new PQueue({ concurrency: 16 }).addAll(
    Array.from({ length: servers }, (_, index) => () => operator.boot(`kill${index}`)),
  );
  const killed = performance.now();
  await hosts.control(hosts.names, "kill");
  const started = performance.now();
  await hosts.control(hosts.names, "start");
  const serving = performance.now();
  await cloud.eventually(
    async () => Object.values<Json>((await cloud.compute("GET", "/servers?status=BUILD&limit=1")).body.servers ?? {}),
    (building) => building.length === 0,
  );
  const found = await Promise.all(ids.map((id) => operator.server(id)));
  const twice = await Promise.all(ids.map((id) => buildsOf(cloud, id)));
  const failed = found.filter(({ status }) => String(status) === "ERROR");
  const settled = await auditUntilClean(cloud, report);
  const none = { most: 0 };
  const figures: Figure[] = [
    { what: "kill of all hosts at once", unit: "s", value: (started - killed) / 1000 },
    { what: "their start: all serve again", unit: "s", value: (serving - started) / 1000 },
    { what: "servers of these that are neither active nor failed", unit: "", value: unsettled(found), aim: none },
    {
      what: "servers of these that were built twice",
      unit: "",
      value: twice.filter((times) => times > 1).length,
      aim: none,
    },
    { what: "servers of these that ended in error", unit: "", value: failed.length },
    { what: "until the audit finds nothing wrong", unit: "s", value: settled, aim: { most: AT_REST / 1000 } },
  ];
  return figures;
}

/** Returns the seconds until the audit is clean; the hosts' periodic tasks remove claims of killed builds. */
async function auditUntilClean(cloud: LocalCloud, report: (text: string) => void): Promise<number> {
  const began = performance.now();
  for (;;) {
    const audit = new Program("compute-cluster", ["audit", "--nova-manage-exit-codes", "--state-dir", cloud.stateDir]);
    const { code } = await audit.exited;
    const elapsed = performance.now() - began;
    if (code === 0) {
      return elapsed / 1000;
    }
    if (elapsed > 2 * AT_REST) {
      report(audit.stdout);
      return Number.POSITIVE_INFINITY;
    }
    await pause(10_000);
  }
}

function unsettled(servers: readonly Json[]): number {
  return servers.filter(({ status }) => !["ACTIVE", "ERROR"].includes(String(status))).length;
}

/** Returns the number of successful builds of the server by agents. */
async function buildsOf(cloud: LocalCloud, id: string): Promise<number> {
  const { body } = await cloud.compute("GET", `/servers/${id}/os-instance-actions`);
  const [create] = Object.values<Json>(body.instanceActions ?? {}).filter((each) => String(each.action) === "create");
  const response = await cloud.compute("GET", `/servers/${id}/os-instance-actions/${create?.request_id}`);
  const events = Object.values<Json>(response.body.instanceAction?.events ?? {});
  return events.filter(
    ({ event, result }) => String(event) === "compute__do_build_and_run_instance" && String(result) === "Success",
  ).length;
}
