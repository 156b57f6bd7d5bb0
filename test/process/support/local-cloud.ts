import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { type ApiResponse, type Cloud, eventually, passwordToken, request } from "./cloud.js";
import { copyFolder } from "./copy-folder.js";
import { Program } from "./program.js";

/** A control plane and agents as processes with a temporary state directory, and an administrator's HTTP client. */
export class LocalCloud implements Cloud {
  readonly stateDir: string;
  readonly #programs: Program[] = [];
  #controlPlane: Program | undefined;
  #url = "";
  #token = "";

  private constructor(stateDir: string) {
    this.stateDir = stateDir;
  }

  static async start(...args: string[]): Promise<LocalCloud> {
    const cloud = new LocalCloud(await mkdtemp(join(tmpdir(), "compute-agent-")));
    await cloud.startControlPlane(...args);
    return cloud;
  }

  /** Starts a cloud from a copy of another's state directory, which must not be in use. */
  static async from(stateDir: string): Promise<LocalCloud> {
    const cloud = new LocalCloud(await mkdtemp(join(tmpdir(), "compute-agent-")));
    await copyFolder(stateDir, cloud.stateDir);
    await cloud.startControlPlane();
    return cloud;
  }

  /** Uses a cluster that `compute-agent up` started. */
  static over(stateDir: string, url: string): LocalCloud {
    const cloud = new LocalCloud(stateDir);
    cloud.#url = url;
    return cloud;
  }

  get url(): string {
    return this.#url;
  }
  get controlPlane(): Program {
    if (this.#controlPlane === undefined) {
      throw new Error("the control plane was not started");
    }
    return this.#controlPlane;
  }

  async startControlPlane(...args: string[]): Promise<void> {
    const port = this.#url === "" ? ["--port", "0"] : [];
    this.#controlPlane = this.#run("compute-cluster", [
      "control-plane",
      "--state-dir",
      this.stateDir,
      ...port,
      ...args,
    ]);
    const [, url] = await this.#controlPlane.printed(/listening on (http:\S+)/);
    this.#url = url ?? "";
  }

  /** Starts an agent and, by default, waits until it serves. */
  async startAgent(host: string, options: { args?: readonly string[]; wait?: boolean } = {}): Promise<Program> {
    const agent = this.#run("compute-agent", ["--host", host, "--state-dir", this.stateDir, ...(options.args ?? [])]);
    if (options.wait !== false) {
      await agent.printed(/\bserving\b/);
    }
    return agent;
  }

  async request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<ApiResponse> {
    return request(method, `${this.#url}${path}`, body, { "x-auth-token": await this.token(), ...headers });
  }

  /** Returns an administrator's token. */
  async token(): Promise<string> {
    if (this.#token === "") {
      await this.authenticate();
    }
    return this.#token;
  }

  async joinToken(): Promise<string> {
    return (await readFile(join(this.stateDir, "join-token"), "utf8")).trim();
  }

  compute(method: string, path: string, body?: unknown, version = "2.96"): Promise<ApiResponse> {
    return this.request(method, `/compute/v2.1${path}`, body, { "openstack-api-version": `compute ${version}` });
  }

  placement(method: string, path: string, body?: unknown, version = "1.39"): Promise<ApiResponse> {
    return this.request(method, `/placement${path}`, body, { "openstack-api-version": `placement ${version}` });
  }

  image(method: string, path: string): Promise<ApiResponse> {
    return this.request(method, `/image${path}`);
  }

  async authenticate(): Promise<void> {
    const clouds = parse(await readFile(join(this.stateDir, "clouds.yaml"), "utf8")) as {
      clouds: Record<string, { auth: { username: string; password: string; project_name: string } }>;
    };
    const auth = clouds.clouds.devstack?.auth;
    if (auth === undefined) {
      throw new Error("clouds.yaml has no cloud devstack");
    }
    const { username, password, project_name: project } = auth;
    this.#token = await passwordToken(`${this.#url}/identity`, { username, password, project });
  }

  eventually<T>(probe: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
    return eventually(probe, holds);
  }

  /** Ends every process, and removes the state directory. */
  async dispose(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.kill()));
    await rm(this.stateDir, { recursive: true, force: true });
  }

  #run(name: "compute-agent" | "compute-cluster", args: readonly string[]): Program {
    const program = new Program(name, args);
    this.#programs.push(program);
    return program;
  }
}
