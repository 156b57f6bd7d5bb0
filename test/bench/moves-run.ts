import { performance } from "node:perf_hooks";
import PQueue from "p-queue";
import type { Json } from "../process/support/cloud.js";
import type { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import type { BenchHosts } from "./moves-hosts.js";
import { cpuOf, cpuSince } from "./processes.js";

export interface Figure {
  readonly operation: string;
  readonly hosts: number;
  readonly perSecond: number;
  /** Milliseconds of processor time per server: of the agents with this process's client, and of the control plane. */
  readonly agents: number;
  readonly controlPlane: number;
}

/** Boots, migrates, evacuates and deletes servers, and measures the rate per second. */
export class MovesBench {
  readonly #cloud: LocalCloud;
  readonly #hosts: BenchHosts;
  readonly #servers: number;
  readonly #report: (operation: string) => void;
  readonly figures: Figure[] = [];

  constructor(
    cloud: LocalCloud,
    hosts: BenchHosts,
    servers: number,
    report: (operation: string) => void = () => undefined,
  ) {
    this.#cloud = cloud;
    this.#hosts = hosts;
    this.#servers = servers;
    this.#report = report;
  }

  async run(): Promise<void> {
    const operator = new Operator(this.#cloud);
    const [first = "", second = ""] = this.#hosts.names;
    const imageRef = await operator.image();
    const spread = await this.#measure("boot", () => this.#boot(imageRef), "BUILD", "ACTIVE");
    await this.#measure("cold migration", () => this.#all(spread, { migrate: null }), "RESIZE", "VERIFY_RESIZE");
    await this.#measure("confirm", () => this.#all(spread, { confirmResize: null }), "VERIFY_RESIZE", "ACTIVE");
    await this.#measure(
      "live migration",
      () => this.#all(spread, { "os-migrateLive": { host: null, block_migration: "auto" } }),
      "MIGRATING",
      "ACTIVE",
    );
    await this.#measure("delete", () => this.#delete(spread), "ACTIVE", null);
    const colocated = await this.#measure(null, () => this.#boot(imageRef, first), "BUILD", "ACTIVE");
    await this.#hosts.control([first], "kill");
    await operator.forceDown(first, true);
    const body = { evacuate: { host: second } };
    await this.#measure("evacuation", () => this.#all(colocated, body, "2.94"), "REBUILD", "ACTIVE");
  }

  /**
   * Measures from the first request until no server has the transitional status.
   * @param status final status of each server; null if they are deleted
   */
  async #measure(
    operation: string | null,
    work: () => Promise<void>,
    underWay: string,
    status: string | null,
  ): Promise<string[]> {
    this.#report(operation ?? "boot on one host");
    const { pid } = this.#cloud.controlPlane;
    const [before, from] = [performance.now(), await cpuOf(pid)];
    await work();
    // A cheap query, since its own cost is included.
    await this.#cloud.eventually(
      () => this.#list(`/servers?status=${underWay}&limit=1`),
      (found) => found.length === 0,
    );
    const elapsed = (performance.now() - before) / 1000;
    if (operation !== null) {
      const spent = cpuSince(await cpuOf(pid), from);
      this.figures.push({
        operation,
        hosts: this.#hosts.names.length,
        perSecond: this.#servers / elapsed,
        agents: (spent.agents * 1000) / this.#servers,
        controlPlane: (spent.controlPlane * 1000) / this.#servers,
      });
    }
    const servers = await this.#list("/servers/detail?limit=1000");
    const atRest = servers.filter((server) => String(server.status) === status);
    if (servers.length !== (status === null ? 0 : this.#servers) || atRest.length !== servers.length) {
      throw new Error(`${atRest.length} of ${this.#servers} servers are ${status ?? "gone"} after a ${operation}`);
    }
    return servers.map(({ id }) => String(id));
  }

  async #list(path: string): Promise<Json[]> {
    return Object.values((await this.#cloud.compute("GET", path)).body.servers ?? {});
  }

  async #boot(imageRef: string, host?: string): Promise<void> {
    const requestedHost = host === undefined ? {} : { host };
    await each(
      Array.from({ length: this.#servers }, (_, index) => `vm${index}`),
      (name) =>
        this.#ask("POST", "/servers", {
          server: { name, flavorRef: "1", imageRef, networks: "none", ...requestedHost },
        }),
    );
  }

  async #all(servers: readonly string[], body: object, version?: string): Promise<void> {
    await each(servers, (id) => this.#ask("POST", `/servers/${id}/action`, body, version));
  }

  async #delete(servers: readonly string[]): Promise<void> {
    await each(servers, (id) => this.#ask("DELETE", `/servers/${id}`));
  }

  async #ask(method: string, path: string, body?: object, version?: string): Promise<void> {
    const response = await this.#cloud.compute(method, path, body, version);
    if (response.status >= 300) {
      throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
    }
  }
}

/** Runs up to 16 requests in parallel; sequential requests would measure round trips. */
async function each(items: readonly string[], ask: (item: string) => Promise<void>): Promise<void> {
  await new PQueue({ concurrency: 16 }).addAll(items.map((item) => () => ask(item)));
}
