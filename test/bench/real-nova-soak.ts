/**
 * `npm run bench real-nova-soak`: a hundred hosts of one process under a real Nova. Servers are booted, moved, stopped
 * and deleted at random, while RabbitMQ is killed and restarted twice. At the end, no trace of any server may remain in
 * the API, in Placement or on a hypervisor, and neither `nova-manage placement audit` nor our own audit may report
 * anything. Nova's services must not have raised exceptions that they do not raise with real nova-computes.
 *
 * `--minutes 10 --hosts 100 --users 4 --outages 2 --seed 4711`
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { VirtualRandom } from "../../src/simulation/virtual-random.js";
import { KILL_BROKER, RESTART_API, START_BROKER } from "../peers/real-nova/outage.js";
import { RealNova } from "../peers/real-nova/real-nova.js";
import { eventually, type Json } from "../process/support/cloud.js";
import { Program } from "../process/support/program.js";
import { OurComputes } from "./nova-computes.js";
import { usageOf } from "./processes.js";
import { failuresOfServices, isUsual } from "./service-failures.js";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    hosts: { type: "string", default: "100" },
    users: { type: "string", default: "4" },
    outages: { type: "string", default: "2" },
    seed: { type: "string", default: String(Date.now() % 100_000) },
  },
});
/** Max servers of a user. */
const MAX_SERVERS = 12;
/** Milliseconds after which a server with an unfinished operation is reported. */
const STUCK_TIMEOUT_MS = 300_000;
/** Share of moves during which the user deletes the server; below, the max milliseconds before the delete. */
const CUT_SHORT = 0.3;
const MOVES = ["migrate", "os-migrateLive", "confirmResize", "revertResize"];
const LATEST_CUT = 4_000;

/** Milliseconds; two periodic tasks of each host, with their duration. */
const PASSES = 135_000;

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** A user who performs one operation after another on one of the user's servers. */
class User {
  readonly done: Record<string, number> = {};
  readonly #nova: RealNova;
  readonly #random: VirtualRandom;
  readonly #name: string;
  readonly #hosts: readonly string[];
  #servers: string[] = [];

  constructor(nova: RealNova, name: string, hosts: readonly string[]) {
    this.#nova = nova;
    this.#name = name;
    this.#hosts = hosts;
    this.#random = new VirtualRandom(`${values.seed}-${name}`);
  }

  get servers(): readonly string[] {
    return this.#servers;
  }

  async run(until: number): Promise<void> {
    while (performance.now() < until) {
      try {
        await this.#act();
      } catch (error) {
        // An outage interrupted the request; the next one continues from the resulting state.
        this.#count(`refused: ${String(error).slice(0, 40)}`);
        await pause(1_000);
      }
    }
  }

  async #act(): Promise<void> {
    const id = this.#servers[this.#random.integer(0, this.#servers.length - 1)];
    const roll = this.#random.next();
    if (id === undefined || (roll < 0.4 && this.#servers.length < MAX_SERVERS)) {
      const host = this.#hosts[this.#random.integer(0, this.#hosts.length - 1)] ?? "";
      const booted = await this.#nova.operator.boot(`${this.#name}-vm`, { host });
      this.#servers.push(booted);
      await this.#rests(booted);
      this.#count("boot");
      return;
    }
    const server = await this.#rests(id);
    const status = String(server.status);
    if (roll < 0.5 || status === "ERROR" || !["ACTIVE", "SHUTOFF", "VERIFY_RESIZE"].includes(status)) {
      await this.#delete(id);
      this.#count(`delete of ${status}`);
    } else if (status === "VERIFY_RESIZE") {
      await this.#ask(id, roll < 0.75 ? { confirmResize: null } : { revertResize: null });
    } else if (status === "SHUTOFF") {
      await this.#ask(id, { "os-start": null });
    } else if (roll < 0.7) {
      await this.#ask(id, { migrate: null });
    } else if (roll < 0.9) {
      await this.#ask(id, { "os-migrateLive": { host: null, block_migration: "auto" } });
    } else {
      await this.#ask(id, { "os-stop": null });
    }
  }

  /** Sends an action; some moves are interrupted by a delete at a random step. */
  async #ask(id: string, body: object): Promise<void> {
    const [what = ""] = Object.keys(body);
    await this.#nova.act(id, body);
    if (MOVES.includes(what) && this.#random.next() < CUT_SHORT) {
      await pause(this.#random.next() * LATEST_CUT);
      const { status } = await this.#nova.operator.server(id);
      await this.#delete(id);
      this.#count(`delete amid ${what}: ${status}`);
      return;
    }
    const { status } = await this.#rests(id);
    this.#count(`${what}: ${status}`);
  }

  async #delete(id: string): Promise<void> {
    await this.#nova.compute("DELETE", `/servers/${id}`);
    this.#servers = this.#servers.filter((each) => each !== id);
  }

  /** Waits until the server has no unfinished operation, or until the timeout. */
  #rests(id: string): Promise<Json> {
    const until = performance.now() + STUCK_TIMEOUT_MS;
    return eventually(
      () => this.#nova.operator.server(id),
      (server) =>
        (String(server.status) !== "BUILD" && String(server["OS-EXT-STS:task_state"]) === "null") ||
        performance.now() > until,
    );
  }

  #count(what: string): void {
    this.done[what] = (this.done[what] ?? 0) + 1;
  }
}

/**
 * Returns how often a host removed allocations of a deleted server or its move, which a conductor had restored without a
 * check.
 */
async function takenAway(nova: RealNova): Promise<number> {
  const agentOutput = await readFile(join(nova.plane.state, "log", "agents.out"), "utf8");
  return agentOutput.split("is deleted: its allocations are removed").length - 1;
}

/** Returns the remaining problems at the end. */
async function leftOf(nova: RealNova, hosts: readonly string[]): Promise<readonly string[]> {
  const complaints: string[] = [];
  const { body } = await nova.compute("GET", "/servers?all_tenants=1");
  const servers = Object.values(body.servers ?? {});
  complaints.push(...servers.map(({ id, name }) => `server ${id} ${name} is still there`));
  for (const host of hosts) {
    const { uuid } = await nova.operator.provider(host);
    const { body: held } = await nova.placement("GET", `/resource_providers/${uuid}/allocations`);
    complaints.push(
      ...Object.keys(held.allocations ?? {}).map((consumer) => `${consumer} still holds something of ${host}`),
    );
    if ((await nova.guests(host)) !== "") {
      complaints.push(`there is still a guest on ${host}`);
    }
  }
  const theirs = await nova.manage("placement", "audit", "--verbose");
  if (theirs.rc !== 0) {
    complaints.push(`nova-manage placement audit: ${theirs.rc} ${theirs.output}`);
  }
  const ours = new Program("compute-cluster", ["audit", "--nova-manage-exit-codes"], {
    ...{ OS_AUTH_URL: "http://127.0.0.1:18100/v3", OS_USERNAME: "admin", OS_PASSWORD: "secret" },
    ...{ OS_PROJECT_NAME: "admin", OS_USER_DOMAIN_ID: "default", OS_PROJECT_DOMAIN_ID: "default" },
  });
  const { code } = await ours.exited;
  if (code !== 0) {
    complaints.push(`compute-agent audit: ${code} ${ours.stdout}${ours.stderr}`);
  }
  return complaints;
}

print(`seed ${values.seed}`);
process.env.DEBUG = "false";
const nova = await RealNova.start();
const computes = new OurComputes(nova);
try {
  const hosts = Array.from({ length: Number(values.hosts) }, (_, index) => `soak${index}`);
  const began = performance.now();
  await computes.start(hosts);
  print(`${hosts.length} hosts are up after ${Math.round(performance.now() - began)} ms`);
  await nova.discover();
  const before = await usageOf(await computes.pids());
  const length = Number(values.minutes) * 60_000;
  const until = performance.now() + length;
  const users = Array.from({ length: Number(values.users) }, (_, index) => new User(nova, `user${index}`, hosts));
  const working = Promise.all(users.map((user) => user.run(until)));
  const outages = Number(values.outages);
  for (let outage = 0; outage < outages; outage += 1) {
    await pause(length / (outages + 1));
    print("RabbitMQ is killed, and started again");
    await nova.plane.shell(`${KILL_BROKER}; ${RESTART_API}; ${START_BROKER}`);
  }
  await working;
  const after = await usageOf(await computes.pids());
  for (const { servers } of users) {
    await Promise.all(servers.map((id) => nova.compute("DELETE", `/servers/${id}`)));
  }
  await Promise.race([
    Promise.all(users.flatMap(({ servers }) => servers.map((id) => nova.gone(id)))),
    pause(STUCK_TIMEOUT_MS, undefined, { ref: false }),
  ]);
  // Messages that an outage cut off are handled when their host restarts, as with nova-computes.
  await computes.stop(hosts);
  await computes.startAgain(hosts);
  await pause(70_000);
  const { servers: left } = (await nova.compute("GET", "/servers?all_tenants=1")).body;
  await Promise.all(Object.values(left ?? {}).map(({ id }) => nova.compute("DELETE", `/servers/${id}`)));
  // If the conductor restored allocations of a server that was deleted meanwhile, the host's next periodic task removes
  // them, as with nova-computes.
  await pause(PASSES);
  await computes.stop(hosts);
  print(
    JSON.stringify(
      users.map(({ done }) => done),
      null,
      1,
    ),
  );
  print(
    `memory: ${before.memory.toFixed(0)} MB before, ${after.memory.toFixed(0)} MB after; processor ${(after.cpu - before.cpu).toFixed(0)} s`,
  );
  print(`allocations of deleted servers taken away by passes: ${await takenAway(nova)}`);
  const raised = [...(await failuresOfServices(nova.plane.state))];
  const counts = raised.map(([what, { times }]) => [what, times]);
  print(`raised in Nova's services: ${JSON.stringify(Object.fromEntries(counts), null, 1)}`);
  const unusual = raised
    .filter(([what]) => !isUsual(what))
    .map(([what, { times, example }]) => `${what}, ${times} times: ${example}`);
  const complaints = [...(await leftOf(nova, hosts)), ...unusual];
  print(complaints.length === 0 ? "nothing is left" : complaints.join("\n"));
  process.exitCode = complaints.length === 0 ? 0 : 1;
} finally {
  await computes.stop([]);
  await nova.stop();
}
