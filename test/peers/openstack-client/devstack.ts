import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openrc } from "../../../src/control-plane/identity/openrc.js";
import { Program } from "../../process/support/program.js";
import { Clients, requireClients } from "./clients.js";

/** Frequent heartbeats, so that a service that has just started soon has the time of its last one. */
const OFTEN = "[DEFAULT]\nreport_interval = 1\n";

/** A cluster of three hosts started by `compute-agent up`, and clients configured for it. */
export class Devstack {
  readonly stateDir: string;
  /** Selects the cluster for clients of any kind. */
  readonly environment: Readonly<Record<string, string>>;
  readonly clients: Clients;
  readonly #up: Program;

  private constructor(stateDir: string, up: Program, environment: Readonly<Record<string, string>>) {
    this.stateDir = stateDir;
    this.#up = up;
    this.environment = environment;
    this.clients = new Clients(environment);
  }

  /** @param config additional nova.conf content for all hosts */
  static async start(config = ""): Promise<Devstack> {
    requireClients();
    const stateDir = await mkdtemp(join(tmpdir(), "compute-agent-clients-"));
    const configFile = join(stateDir, "nova.conf");
    await writeFile(configFile, OFTEN + config);
    const options = ["--hosts", "3", "--port", "0", "--state-dir", stateDir, "--config-file", configFile];
    const up = new Program("compute-cluster", ["up", ...options]);
    await up.printed(/Ctrl-C stops all of it/);
    return new Devstack(stateDir, up, await environment(stateDir));
  }

  /** Kills a host's agent like `kill -9`; its guests remain. */
  killAgent(host: string): void {
    const lines = [...this.#up.stdout.matchAll(new RegExp(`${host} +ready +pid (\\d+)`, "g"))];
    process.kill(Number(lines.at(-1)?.[1]), "SIGKILL");
  }

  /** Runs a command of `compute-cluster` for this cluster. */
  async command(...args: string[]): Promise<{ readonly rc: number | null; readonly stdout: string }> {
    const program = new Program("compute-cluster", [...args, "--state-dir", this.stateDir]);
    const { code } = await program.exited;
    return { rc: code, stdout: program.stdout };
  }

  /** Polls until the server has this status; the test's own timeout applies. */
  async serverIn(name: string, status: string): Promise<void> {
    const [field, expected] = status.includes("=") ? (status.split("=") as [string, string]) : ["status", status];
    const found = await this.shows(`server show ${name} -f value -c ${field}`, new RegExp(`^(${expected}|ERROR)$`));
    if (found !== expected) {
      throw new Error(await this.clients.output(`openstack server show ${name}`));
    }
  }

  /** Waits until every service has sent a heartbeat. */
  async heartbeats(): Promise<void> {
    await this.shows('compute service list -f value -c "Updated At"', /^(?![\s\S]*None)/);
  }

  /** Repeats a command of `openstack` until its output matches. */
  async shows(command: string, pattern: RegExp): Promise<string> {
    for (;;) {
      const found = await this.clients.output(`openstack ${command}`);
      if (pattern.test(found)) {
        return found;
      }
      await pause(100);
    }
  }

  async stop(): Promise<void> {
    await this.clients.stop();
    await this.#up.stop();
    await rm(this.stateDir, { recursive: true, force: true });
  }
}

/** Returns the variables for both ways to select a cloud: `nova` reads no clouds.yaml. */
async function environment(stateDir: string): Promise<Record<string, string>> {
  const file = join(stateDir, "clouds.yaml");
  const exports = openrc(await readFile(file, "utf8"), "devstack") ?? "";
  const variables = [...exports.matchAll(/^export (\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]);
  return { OS_CLIENT_CONFIG_FILE: file, ...Object.fromEntries(variables) };
}
