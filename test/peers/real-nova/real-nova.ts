import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ApiResponse, type Cloud, eventually, passwordToken, request } from "../../process/support/cloud.js";
import { filesBelow } from "../../process/support/files-below.js";
import { Operator } from "../../process/support/operator.js";
import { Program } from "../../process/support/program.js";
import { freePort } from "../placement/real-placement.js";
import { ControlPlane, type ScriptOutcome } from "./control-plane.js";
import { ImageStore } from "./image-store.js";

/** The newest microversion of Zed's Compute API. */
const NEWEST = "2.93";
const ADMIN = { username: "admin", password: "secret", project: "admin" };
/** The only image of its Image service. */
export const IMAGE = "c0ffee00-0000-4000-8000-000000000001";
const FAKE_LIBVIRT = "fake-libvirt";
const FLAVORS = [
  { id: "1", name: "m1.tiny", ram: 512, disk: 1, vcpus: 1 },
  { id: "2", name: "m1.small", ram: 2_048, disk: 20, vcpus: 1 },
] as const;

/**
 * Starts another Compute API. `$1` is additional configuration, `$2` its port. A command of the peer's shell library.
 */
const OTHER_API = `
rm -rf "$STATE/etc/other-api" && cp -r "$STATE/etc/nova-api" "$STATE/etc/other-api" &&
  printf '\\n%s\\n' "$1" >>"$STATE/etc/other-api/nova.conf" &&
  PYTHONPATH="$HERE/lib" OS_NOVA_CONFIG_DIR="$STATE/etc/other-api" spawn other-api $UWSGI \\
    --http-socket "127.0.0.1:$2" --processes 1 --threads 1 --wsgi-file /usr/bin/nova-api-wsgi
`;

interface AgentOptions {
  /** `section.option=value` */
  readonly options?: readonly string[];
  /** Whether to wait until the agent serves. Default true. */
  readonly wait?: boolean;
  /** Default: `fake-libvirt`, with a hypervisor per host. */
  readonly driver?: string;
}

/** A real Nova with our agents and its own nova-computes. */
export class RealNova implements Cloud {
  readonly plane: ControlPlane;
  readonly operator: Operator;
  /** Every agent that was started, with its output. */
  readonly agents: Program[] = [];
  readonly #images: ImageStore;
  #token = "";

  private constructor(plane: ControlPlane, images: ImageStore) {
    this.plane = plane;
    this.#images = images;
    this.operator = new Operator(this);
  }

  /** Starts a new control plane, which ends with this object. */
  static async start(): Promise<RealNova> {
    return RealNova.#over(await ControlPlane.start());
  }

  /** Attaches to a running control plane, which keeps running. */
  static at(state: string): Promise<RealNova> {
    return RealNova.#over(ControlPlane.at(state));
  }

  static async #over(plane: ControlPlane): Promise<RealNova> {
    const nova = new RealNova(plane, await ImageStore.open());
    try {
      // On a busy machine the API may need longer than the peer waits for it.
      await nova.waitForApi();
      for (const flavor of FLAVORS) {
        // The flavor may exist already.
        await nova.compute("POST", "/flavors", { flavor });
      }
    } catch (error) {
      await nova.stop();
      throw error;
    }
    return nova;
  }

  compute(method: string, path: string, body?: unknown, version: string = NEWEST): Promise<ApiResponse> {
    const known = Number(version.slice(2)) > Number(NEWEST.slice(2)) ? NEWEST : version;
    return this.#request(method, `18103/v2.1${path}`, body, `compute ${known}`);
  }

  placement(method: string, path: string, body?: unknown, version = "1.39"): Promise<ApiResponse> {
    return this.#request(method, `18101${path}`, body, `placement ${version}`);
  }

  image(method: string, path: string): Promise<ApiResponse> {
    return this.#request(method, `18104/image${path}`, undefined, "");
  }

  /** Returns an administrator's token. */
  async token(): Promise<string> {
    this.#token ||= await passwordToken("http://127.0.0.1:18100", ADMIN);
    return this.#token;
  }

  /** Starts our agent with the nova.conf of a nova-compute of this host, except for the driver. */
  async startAgent(host: string, { options = [], wait = true, driver }: AgentOptions = {}): Promise<Program> {
    const args = [...(await this.#agentArguments(host, options, driver)), "--debug"];
    const agent = new Program("compute-agent", args, {}, { endsWithUs: true });
    this.agents.push(agent);
    if (wait) {
      await agent.printed(/\bis serving\b/);
    }
    return agent;
  }

  /** Returns the output of all agents, of both streams. */
  get printed(): string {
    return this.agents.map(({ stdout, stderr }) => `${stdout}${stderr}`).join("\n\n");
  }

  /** Excludes the host from scheduling immediately. After a service has ended, it would count as up for some time. */
  async retire(host: string): Promise<void> {
    await this.operator.forceDown(host, true);
  }

  /** Includes the host again, and waits until it is up: its first heartbeat comes some seconds after its start. */
  async unretire(host: string): Promise<void> {
    await this.operator.forceDown(host, false);
    await eventually(
      () => this.operator.service(host),
      ({ state }) => String(state) === "up",
    );
  }

  /** Returns the exit code and the state of each part from an agent's `--check`. */
  async check(host: string, options: readonly string[] = []): Promise<Readonly<Record<string, unknown>>> {
    const agent = new Program("compute-agent", [...(await this.#agentArguments(host, options)), "--check", "--json"]);
    this.agents.push(agent);
    const { code } = await agent.exited;
    const { parts } = JSON.parse(agent.stdout) as { parts: { name: string; state: string }[] };
    return { code, ...Object.fromEntries(parts.map(({ name, state }) => [name, state])) };
  }

  /** Starts a real nova-compute with a driver whose guests survive it. */
  async spawnCompute(host: string, more = ""): Promise<void> {
    // npm sets NODE, which the script would use as the name of the hypervisor.
    await this.#script("compute", [host, "fakerecord.FakeRecordDriver"], { EXTRA: more, NODE: "" });
  }

  /** Starts a real nova-compute and waits until it is up. */
  async startCompute(host: string): Promise<void> {
    const since = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 1).toISOString();
    // A short interval, since only this waits for the first heartbeat.
    await this.spawnCompute(host, `[DEFAULT]\\nreport_interval = 2\\n`);
    await eventually(
      () => this.operator.service(host),
      ({ updated_at }) => updated_at !== undefined && updated_at !== null && `${updated_at}Z` > since,
    );
    await this.discover();
  }

  killCompute(host: string): Promise<ScriptOutcome> {
    return this.plane.shell(`stop compute-${host} KILL`);
  }

  /** Returns the leader of the processes that the peer has started under this name. */
  async processOf(name: string): Promise<number> {
    return Number(await readFile(join(this.plane.state, "run", `${name}.pid`), "utf8"));
  }

  /** Returns the folder of a fake hypervisor. */
  hypervisor(host: string): string {
    return join(this.plane.state, "hypervisors", host);
  }

  /** Returns the `state_path` of a nova-compute or of our agent. */
  statePath(host: string): string {
    return join(this.plane.state, "state", host);
  }

  /** Discovers by services: a node that belonged to a host before counts as mapped, even if its host no longer is. */
  async discover(): Promise<void> {
    const { rc, output } = await this.manage("cell_v2", "discover_hosts", "--by-service");
    if (rc !== 0) {
      throw new Error(output);
    }
  }

  /** Runs `nova-manage …` with the control plane's own configuration. */
  manage(...args: readonly string[]): Promise<ScriptOutcome> {
    const config = join(this.plane.state, "etc/nova-conductor.conf");
    return this.plane.run("/usr/bin/nova-manage", ["--config-file", config, ...args], {});
  }

  /** Runs `act` while this cloud has another Compute API with additional configuration. */
  async withOtherApi(more: string, act: (compute: Cloud["compute"]) => Promise<void>): Promise<void> {
    const port = await freePort();
    const { rc, output } = await this.plane.shell(OTHER_API, more, String(port));
    if (rc !== 0) {
      throw new Error(output);
    }
    try {
      await this.waitForApi(port);
      await act((method, path, body, version = NEWEST) =>
        this.#request(method, `${port}/v2.1${path}`, body, `compute ${version}`),
      );
    } finally {
      await this.plane.shell("stop other-api");
    }
  }

  /** Waits until the Compute API has loaded Nova, since it listens earlier. */
  async waitForApi(port = 18_103): Promise<void> {
    await eventually(
      () => request("GET", `http://127.0.0.1:${port}`, undefined, {}).catch(() => null),
      (response) => response !== null && response.status < 400,
    );
  }

  /** Sets a fault of our agent, which persists across restarts. */
  async setFault(host: string, fault: string): Promise<void> {
    const command = new Program("compute-cluster", ["fault", "--state-path", this.statePath(host), "set", host, fault]);
    const { code } = await command.exited;
    if (code !== 0) {
      throw new Error(command.stdout + command.stderr);
    }
  }

  /** Returns the domains of our agent's hypervisor as XML. */
  async guests(host: string): Promise<string> {
    const files = await filesBelow(join(this.hypervisor(host), "domains"));
    return Object.values(files).join("\n");
  }

  /** Deletes a server, and waits until it is gone. */
  async remove(server: string): Promise<void> {
    await this.compute("DELETE", `/servers/${server}`);
    await this.gone(server);
  }

  async gone(server: string): Promise<void> {
    await eventually(
      () => this.compute("GET", `/servers/${server}`),
      ({ status }) => status === 404,
    );
  }

  /** Waits until the server's newest migration has this status, and fails if it has ended in another. */
  async migrationIn(server: string, expectedStatus: string): Promise<void> {
    const newest = async () => {
      const found = await this.operator.migrations(server);
      return String(found.toSorted((a, b) => Number(b.id) - Number(a.id))[0]?.status);
    };
    const ended = ["error", "failed", "cancelled", expectedStatus];
    const status = await eventually(newest, (found) => ended.includes(found));
    if (status !== expectedStatus) {
      throw new Error(`the migration of ${server} ended as ${status}`);
    }
  }

  /** Runs an action of a server, which must be accepted. */
  async act(server: string, body: object, version?: string): Promise<ApiResponse> {
    const response = await this.compute("POST", `/servers/${server}/action`, body, version);
    if (response.status >= 400) {
      throw new Error(`${JSON.stringify(body)}: ${response.status} ${JSON.stringify(response.body)}`);
    }
    return response;
  }

  /** Ends every process that it started. */
  async stop(): Promise<void> {
    await Promise.all(this.agents.map((agent) => agent.kill()));
    await this.plane.keep("agents.out", this.printed);
    await this.#images.close();
    await this.plane.stop();
  }

  async #agentArguments(host: string, options: readonly string[], driver = FAKE_LIBVIRT): Promise<string[]> {
    const config = await this.plane.writeComputeConfig(host, driver);
    const uri = `fake_libvirt.connection_uri=fake-libvirt://${this.hypervisor(host)}`;
    const images = `glance.endpoint_override=${this.#images.endpoint}`;
    const all = driver === FAKE_LIBVIRT ? [uri, images, ...options] : [images, ...options];
    return ["--config-file", config, ...all.flatMap((option) => ["-o", option])];
  }

  async #script(name: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<void> {
    const { rc, output } = await this.plane.script(name, args, environment);
    if (rc !== 0) {
      throw new Error(`${name} ${args.join(" ")}: exit code ${rc}\n${output}`);
    }
  }

  async #request(method: string, place: string, body: unknown, version: string): Promise<ApiResponse> {
    const headers = {
      "x-auth-token": await this.token(),
      ...(version === "" ? {} : { "openstack-api-version": version }),
    };
    return request(method, `http://127.0.0.1:${place}`, body, headers);
  }
}
