import { driver } from "../../drivers/ironic/index.js";
import { createAgent } from "../../src/agent/life/agent.js";
import { NO_METRICS } from "../../src/agent/metrics/metrics.js";
import { reportClient } from "../../src/cli/agent/report-client.js";
import { type ControlPlane, startControlPlane } from "../../src/cluster/control-plane.js";
import { stateDir } from "../../src/cluster/local/state-dir.js";
import { ironicNodeMove } from "../../src/cluster/manage/ironic-node-move.js";
import { runCommand } from "../../src/cluster/manage/run-command.js";
import { connectToConductor } from "../../src/conductor/connect-to-conductor.js";
import type { ConductorConnection } from "../../src/conductor/port.js";
import { parseIni } from "../../src/config/ini-file.js";
import { compileNovaConfig } from "../../src/config/nova-config.js";
import { createFixedAccess } from "../../src/placement/access/fixed-access.js";
import { PlacementHttp } from "../../src/placement/placement-http.js";
import { nodeDigests } from "../../src/runtime/node/node-digests.js";
import { type VirtualRuntime, VirtualWorld } from "../../src/simulation/index.js";
import { driverSections } from "../../src/virt/driver-sections.js";
import { NO_RULES } from "../fixtures/scheduler-rules.js";

const DIRECTORY = { ...stateDir("/cluster", "/"), database: ":memory:" };

type Json = Readonly<Record<string, unknown>>;

/** The whole control plane with its embedded Ironic, and agents of the ironic driver, over the virtual network. */
export class IronicCloud {
  readonly world: VirtualWorld;
  readonly #controlPlane: ControlPlane;
  readonly #client: VirtualRuntime;
  #token = "";

  private constructor(world: VirtualWorld, controlPlane: ControlPlane) {
    this.world = world;
    this.#controlPlane = controlPlane;
    this.#client = world.spawn({ name: "client" });
  }

  static async open(nodes: number): Promise<IronicCloud> {
    const world = new VirtualWorld({ seed: 17 });
    const controlPlane = await world.runUntil(
      startControlPlane({
        runtime: world.spawn({ name: "control-plane" }),
        digests: nodeDigests,
        directory: DIRECTORY,
        port: 0,
        serviceDownTime: 60,
        scheduler: { maxAttempts: 3, maxPlacementResults: 1000, aggregates: NO_RULES },
        allowResizeToSameHost: false,
        migrateMaxRetries: -1,
        reclaimInstanceInterval: 0,
        serviceDeletePolicy: "strict",
        upstreamQuirks: new Set(),
        ironicNodes: nodes,
      }),
    );
    const cloud = new IronicCloud(world, controlPlane);
    await cloud.#logIn();
    return cloud;
  }

  async close(): Promise<void> {
    await this.world.runUntil(this.#controlPlane.stop());
  }

  /** An agent as a process of its own, serving. @returns the process */
  async agent(host: string): Promise<VirtualRuntime> {
    const runtime = this.world.spawn({ name: `agent-${host}` });
    const session = (await this.#connect(runtime)).host(host);
    const here = parseIni(`[DEFAULT]\nhost = ${host}\nstate_path = /state/${host}\n`, "here.conf");
    const shared = parseIni(await runtime.files.read(DIRECTORY.ironicConfig), "agent.conf");
    const sources = { files: [shared, here], environment: {}, commandLine: [] };
    const compiled = compileNovaConfig(sources, { stateDir: "/cluster", hostname: host }, driverSections(driver));
    const { config } = compiled;
    const agent = createAgent({
      host,
      config,
      configFiles: [],
      driverConfig: compiled.section("ironic"),
      runtime,
      session,
      driver,
      placement: reportClient(config, runtime, session, NO_METRICS),
    });
    await this.world.runUntil(agent.start());
    return runtime;
  }

  /** `nova-manage db ironic_compute_node_move`. */
  async moveNode(node: string, host: string): Promise<number> {
    const runtime = this.world.spawn({ name: "manage" });
    const connection = await this.#connect(runtime);
    const print = () => {};
    const access = createFixedAccess({ endpoint: "http://unused", token: "unused" });
    const parts = {
      conductor: connection.host("manage", { lease: false }),
      placement: new PlacementHttp({ ...runtime, access, userAgent: "nova-manage" }),
      timers: runtime.timers,
      random: runtime.random,
      quirks: new Set<string>(),
      context: { requestId: "req-move" },
      print,
    };
    const move = runCommand(print, () => ironicNodeMove(parts, { ironicNodeUuid: node, destinationHost: host }));
    const code = await this.world.runUntil(move);
    await this.world.runUntil(connection.close());
    return code;
  }

  compute(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<Json> {
    return this.#send(method, `/compute/v2.1${path}`, body, { "openstack-api-version": "compute 2.94" });
  }

  placement(method: "GET" | "PUT", path: string, body?: unknown): Promise<Json> {
    return this.#send(method, `/placement${path}`, body, { "openstack-api-version": "placement 1.39" });
  }

  ironic(path: string): Promise<Json> {
    return this.#send("GET", `/baremetal/v1${path}`, undefined, { "x-openstack-ironic-api-version": "1.82" });
  }

  async boot(): Promise<string> {
    const [image] = (await this.#send("GET", "/image/v2/images")).images as { id: string }[];
    const server = { name: "bm", flavorRef: "baremetal", imageRef: image?.id, networks: "none" };
    return ((await this.compute("POST", "/servers", { server })).server as { id: string }).id;
  }

  /** What servers show; of a deleted one undefined. */
  async server(id: string): Promise<Json | undefined> {
    return ((await this.compute("GET", "/servers/detail")).servers as Json[]).find((server) => server.id === id);
  }

  async serviceId(host: string): Promise<string> {
    const { services } = await this.compute("GET", `/os-services?host=${host}&binary=nova-compute`);
    return (services as { id: string }[])[0]?.id ?? "";
  }

  /** Lets time pass, a second at a time. */
  async until<T>(probe: () => Promise<T>, holds: (found: T) => boolean): Promise<T> {
    for (let seconds = 0; seconds < 600; seconds += 1) {
      const found = await probe();
      if (holds(found)) {
        return found;
      }
      await this.world.advance(1_000);
    }
    throw new Error(`still ${JSON.stringify(await probe())}`);
  }

  async #connect(runtime: VirtualRuntime): Promise<ConductorConnection> {
    const joinToken = (await runtime.files.read(DIRECTORY.joinTokenFile)).trim();
    const url = `${this.#controlPlane.url.replace("http", "ws")}/conductor`;
    return connectToConductor({ url, joinToken, runtime });
  }

  async #logIn(): Promise<void> {
    const conf = await this.#client.files.read(DIRECTORY.ironicConfig);
    const password = /^password = (.*)$/m.exec(conf)?.[1];
    const domain = { id: "default" };
    const body = {
      auth: {
        identity: { methods: ["password"], password: { user: { name: "admin", domain, password } } },
        scope: { project: { name: "admin", domain } },
      },
    };
    const url = `${this.#controlPlane.url}/identity/v3/auth/tokens`;
    const headers = { "content-type": "application/json" };
    const reply = await this.world.runUntil(
      this.#client.http.request({ method: "POST", url, headers, body: JSON.stringify(body) }),
    );
    this.#token = reply.headers["x-subject-token"] ?? "";
  }

  /** As an administrator. @throws for other than success */
  async #send(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Json> {
    const reply = await this.world.runUntil(
      this.#client.http.request({
        method,
        url: this.#controlPlane.url + path,
        headers: { "x-auth-token": this.#token, "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    if (reply.status >= 400) {
      throw new Error(`${method} ${path}: ${reply.status} ${reply.body}`);
    }
    return reply.body === "" ? {} : (JSON.parse(reply.body) as Json);
  }
}
