import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parse } from "yaml";
import { copyFolder } from "./copy-folder.js";
import { Program } from "./program.js";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}
/** A parsed body that tests may walk into; leaves are compared or turned into strings. */
export interface Json {
  readonly [key: string]: Json;
}

/** Pause between two looks, as a multiple of what a look takes, and its bounds in milliseconds. */
const PAUSE = { times: 4, least: 20, most: 500 };

/** A control plane and agents as real processes over a state directory of its own, and an administrator's HTTP client. */
export class LocalCloud {
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

  /** One that goes on from a copy of another's state directory, which must be at rest. */
  static async from(stateDir: string): Promise<LocalCloud> {
    const cloud = new LocalCloud(await mkdtemp(join(tmpdir(), "compute-agent-")));
    await copyFolder(stateDir, cloud.stateDir);
    await cloud.startControlPlane();
    return cloud;
  }

  /** One that `compute-cluster up` has started. */
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

  /** Starts an agent and, unless told otherwise, waits until it serves. */
  async startAgent(host: string, options: { args?: readonly string[]; wait?: boolean } = {}): Promise<Program> {
    const agent = this.#run("compute-agent", ["--host", host, "--state-dir", this.stateDir, ...(options.args ?? [])]);
    if (options.wait !== false) {
      await agent.printed(/\bserving\b/);
    }
    return agent;
  }

  async request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: {
        "x-auth-token": await this.token(),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === "" ? {} : JSON.parse(text)) as Json,
    };
  }

  /** An administrator's token. */
  async token(): Promise<string> {
    if (this.#token === "") {
      await this.authenticate();
    }
    return this.#token;
  }

  async joinToken(): Promise<string> {
    return (await readFile(join(this.stateDir, "join-token"), "utf8")).trim();
  }

  compute(method: string, path: string, body?: unknown, version = "2.96"): Promise<Answer> {
    return this.request(method, `/compute/v2.1${path}`, body, { "openstack-api-version": `compute ${version}` });
  }

  placement(method: string, path: string, body?: unknown, version = "1.39"): Promise<Answer> {
    return this.request(method, `/placement${path}`, body, { "openstack-api-version": `placement ${version}` });
  }

  async authenticate(): Promise<void> {
    const clouds = parse(await readFile(join(this.stateDir, "clouds.yaml"), "utf8")) as {
      clouds: Record<string, { auth: { username: string; password: string; project_name: string } }>;
    };
    const auth = clouds.clouds.devstack?.auth;
    if (auth === undefined) {
      throw new Error("clouds.yaml has no cloud devstack");
    }
    const domain = { id: "default" };
    const response = await fetch(`${this.#url}/identity/v3/auth/tokens`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        auth: {
          identity: {
            methods: ["password"],
            password: { user: { name: auth.username, domain, password: auth.password } },
          },
          scope: { project: { name: auth.project_name, domain } },
        },
      }),
    });
    if (response.status !== 201) {
      throw new Error(`no token: ${response.status} ${await response.text()}`);
    }
    this.#token = response.headers.get("x-subject-token") ?? "";
  }

  /**
   * Asks again until the condition holds; the test's own time-out is the bound. What takes long to ask is asked less often:
   * the programs that are waited for need the processor.
   */
  async eventually<T>(probe: () => Promise<T>, holds: (value: T) => boolean): Promise<T> {
    for (;;) {
      const asked = performance.now();
      const value = await probe();
      if (holds(value)) {
        return value;
      }
      await pause(Math.min(PAUSE.most, Math.max(PAUSE.least, PAUSE.times * (performance.now() - asked))));
    }
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
