/**
 * `npm run bench:moves`: servers booted, migrated (cold and live), evacuated and deleted per second over 3 and over 100 hosts.
 * The control plane is a process of its own; the agents of all hosts are in this one, on the default fake-libvirt driver
 * without delays. Beside it: a real Nova with its fake driver, three nova-compute on a machine of this size (2 cores),
 * recorded as `boot_50` of its bench.json; moves were not measured there.
 */
import { loadavg } from "node:os";
import { performance } from "node:perf_hooks";
import { renderTable } from "../../src/cli/ui/table.js";
import type { Json } from "../process/support/cloud.js";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import { BenchHosts } from "./moves-hosts.js";

const SERVERS = 100;
/** Servers per second: 50 booted in 34.73 and 37.75 s, deleted in 14.26 and 16.5 s. */
const NOVA: Readonly<Record<string, number>> = { boot: 50 / 36.24, delete: 50 / 15.38 };

interface Figure {
  readonly operation: string;
  readonly hosts: number;
  readonly perSecond: number;
}

const list = (json: Json | undefined): Json[] => Object.values(json ?? {});

class MovesBench {
  readonly #cloud: LocalCloud;
  readonly #hosts: BenchHosts;
  readonly figures: Figure[] = [];

  constructor(cloud: LocalCloud, hosts: BenchHosts) {
    this.#cloud = cloud;
    this.#hosts = hosts;
  }

  async run(): Promise<void> {
    const operator = new Operator(this.#cloud);
    const [first = "", second = ""] = this.#hosts.names;
    const imageRef = await operator.image();
    const spread = await this.#measure("boot", () => this.#boot(imageRef), "ACTIVE");
    await this.#measure("cold migration", () => this.#all(spread, { migrate: null }), "VERIFY_RESIZE");
    await this.#measure("confirm", () => this.#all(spread, { confirmResize: null }), "ACTIVE");
    await this.#measure(
      "live migration",
      () => this.#all(spread, { "os-migrateLive": { host: null, block_migration: "auto" } }),
      "ACTIVE",
    );
    await this.#measure("delete", () => this.#delete(spread), null);
    const together = await this.#measure(null, () => this.#boot(imageRef, first), "ACTIVE");
    await this.#hosts.stop(first);
    await operator.forceDown(first, true);
    await this.#measure("evacuation", () => this.#all(together, { evacuate: { host: second } }, "2.94"), "ACTIVE");
  }

  /** From the first request until every server is at rest in the status; null: until there is none. */
  async #measure(operation: string | null, work: () => Promise<void>, status: string | null): Promise<string[]> {
    const before = performance.now();
    await work();
    const servers = await this.#cloud.eventually(
      async () => list((await this.#cloud.compute("GET", "/servers/detail?limit=1000")).body.servers),
      (found) =>
        status === null
          ? found.length === 0
          : found.length === SERVERS &&
            found.every(
              (server) => String(server.status) === status && (server["OS-EXT-STS:task_state"] as unknown) === null,
            ),
    );
    const elapsed = (performance.now() - before) / 1000;
    if (operation !== null) {
      this.figures.push({ operation, hosts: this.#hosts.names.length, perSecond: SERVERS / elapsed });
    }
    return servers.map(({ id }) => String(id));
  }

  async #boot(imageRef: string, host?: string): Promise<void> {
    const asked = host === undefined ? {} : { host };
    for (let count = 0; count < SERVERS; count += 1) {
      const server = { name: `vm${count}`, flavorRef: "1", imageRef, networks: "none", ...asked };
      await this.#ask("POST", "/servers", { server });
    }
  }

  async #all(servers: readonly string[], body: object, version?: string): Promise<void> {
    for (const id of servers) {
      await this.#ask("POST", `/servers/${id}/action`, body, version);
    }
  }

  async #delete(servers: readonly string[]): Promise<void> {
    for (const id of servers) {
      await this.#ask("DELETE", `/servers/${id}`);
    }
  }

  async #ask(method: string, path: string, body?: object, version?: string): Promise<void> {
    const answer = await this.#cloud.compute(method, path, body, version);
    if (answer.status >= 300) {
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
  }
}

async function figuresOf(count: number): Promise<readonly Figure[]> {
  const cloud = await LocalCloud.start();
  const hosts = new BenchHosts(count);
  try {
    await hosts.start(cloud);
    const bench = new MovesBench(cloud, hosts);
    await bench.run();
    return bench.figures;
  } finally {
    await hosts.dispose();
    await cloud.dispose();
  }
}

const [busy = 0] = loadavg();
const few = await figuresOf(3);
const many = await figuresOf(100);
function ratioOf({ operation, perSecond }: Figure): number | undefined {
  const nova = NOVA[operation];
  return nova === undefined ? undefined : perSecond / nova;
}
const show = (value: number | undefined): string => (value === undefined ? "-" : value.toFixed(1));
process.stdout.write(
  `Servers per second, ${SERVERS} servers; ${busy.toFixed(1)} processes were running before, and took their share:\n${renderTable(
    [
      { title: "operation", value: ({ operation }: Figure) => operation },
      { title: "3 hosts", value: ({ perSecond }) => show(perSecond), align: "right" },
      {
        title: "100 hosts",
        value: ({ operation }) => show(many.find((figure) => figure.operation === operation)?.perSecond),
        align: "right",
      },
      { title: "real Nova, 3 hosts", value: ({ operation }) => show(NOVA[operation]), align: "right" },
      { title: "times as many", value: (figure) => show(ratioOf(figure)), align: "right" },
    ],
    few,
    100,
  )}\n`,
);
