import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { freePort } from "../placement/real-placement.js";

const run = promisify(execFile);

export const HOW_TO_INSTALL =
  "the real Glance and Keystone are not installed; on Debian: apt-get install glance-api keystone";

const PROGRAMS = ["/usr/bin/glance-api", "/usr/bin/glance-manage", "/usr/bin/keystone-manage"];

export function isInstalled(): boolean {
  return PROGRAMS.every((path) => existsSync(path));
}

/** Debian's Glance with a file store, behind Debian's Keystone, whose catalog contains it. */
export interface RealGlance {
  /** `auth_url` */
  readonly keystone: string;
  readonly glance: string;
  readonly user: string;
  readonly password: string;
  readonly project: string;
  /** Sends an administrator's request to Glance. */
  request(method: string, path: string, body?: unknown): Promise<Response>;
  /** Creates a project with one member of the same name. */
  addProject(name: string): Promise<ProjectToken>;
  /** The administrator's project. */
  readonly own: ProjectToken;
  stop(): Promise<void>;
}

export interface ProjectToken {
  readonly project: string;
  readonly token: string;
}

const ADMIN = { user: "admin", password: "secret", project: "admin" } as const;

/** Starts both with empty SQLite databases on free ports of the loopback interface. */
export async function startRealGlance(): Promise<RealGlance> {
  const state = await mkdtemp(join(tmpdir(), "real-glance-"));
  const children: ChildProcess[] = [];
  const stop = async () => {
    await Promise.all(children.map(ended));
    await rm(state, { recursive: true, force: true });
  };
  try {
    const keystone = `http://127.0.0.1:${await freePort()}/v3`;
    const glance = `http://127.0.0.1:${await freePort()}`;
    await writeConfigs(state, keystone, glance);
    const [keystoneConf, glanceConf] = [join(state, "keystone.conf"), join(state, "glance.conf")];
    const manage = (...args: string[]) => run("keystone-manage", ["--config-file", keystoneConf, ...args]);
    const filled = run("glance-manage", ["--config-file", glanceConf, "db_sync"]);
    await manage("db_sync");
    await allowReadersBesideWriter(join(state, "keystone.sqlite"));
    await manage("fernet_setup", "--keystone-user", "root", "--keystone-group", "root");
    const urls = ["--bootstrap-public-url", keystone, "--bootstrap-internal-url", keystone];
    const named = [...urls, "--bootstrap-region-id", "RegionOne"];
    await manage("bootstrap", "--bootstrap-password", ADMIN.password, ...named);
    await filled;
    const start = (program: string, args: readonly string[], env: Record<string, string> = {}) => {
      const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: "ignore" });
      children.push(child);
      return child;
    };
    const { port } = new URL(keystone);
    const identity = start("keystone-wsgi-public", ["--host", "127.0.0.1", "--port", port], {
      OS_KEYSTONE_CONFIG_FILES: keystoneConf,
    });
    await waitForStatus(keystone, [200], identity, join(state, "keystone.log"));
    const own = await tokenOf(keystone, ADMIN);
    const { token } = own;
    await register(keystone, token, glance);
    const images = start("glance-api", ["--config-file", glanceConf]);
    await waitForStatus(`${glance}/v2/images`, [401], images, join(state, "glance.log"));
    const request = (method: string, path: string, body?: unknown) =>
      fetch(`${glance}${path}`, {
        method,
        headers: { "x-auth-token": token, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const add = (name: string) => addProject(keystone, token, name);
    return { keystone, glance, ...ADMIN, request, addProject: add, own, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Enables the write-ahead log. Keystone leaves read transactions open, which would otherwise block its next write
 * forever.
 */
async function allowReadersBesideWriter(database: string): Promise<void> {
  const statement = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA journal_mode = WAL')";
  await run("/usr/bin/python3", ["-c", statement, database]);
}

async function writeConfigs(state: string, keystone: string, glance: string): Promise<void> {
  for (const folder of ["fernet", "images", "locks", "staging"]) {
    await mkdir(join(state, folder), { mode: 0o700 });
  }
  await writeFile(
    join(state, "keystone.conf"),
    `[DEFAULT]
log_file = ${state}/keystone.log
[database]
connection = sqlite:///${state}/keystone.sqlite
[token]
provider = fernet
[fernet_tokens]
key_repository = ${state}/fernet
[cache]
enabled = false
`,
  );
  await writeFile(
    join(state, "glance.conf"),
    `[DEFAULT]
bind_host = 127.0.0.1
bind_port = ${new URL(glance).port}
workers = 0
node_staging_uri = file://${state}/staging
log_file = ${state}/glance.log
[database]
connection = sqlite:///${state}/glance.sqlite
[glance_store]
stores = file
default_store = file
filesystem_store_datadir = ${state}/images
[oslo_concurrency]
lock_path = ${state}/locks
[keystone_authtoken]
www_authenticate_uri = ${keystone}
auth_url = ${keystone}
auth_type = password
username = ${ADMIN.user}
password = ${ADMIN.password}
project_name = ${ADMIN.project}
user_domain_id = default
project_domain_id = default
[paste_deploy]
flavor = keystone
config_file = /etc/glance/glance-api-paste.ini
`,
  );
}

interface Login {
  readonly user: string;
  readonly password: string;
  readonly project: string;
}

async function tokenOf(keystone: string, login: Login): Promise<ProjectToken> {
  const domain = { id: "default" };
  const password = { user: { name: login.user, domain, password: login.password } };
  const scope = { project: { name: login.project, domain } };
  const response = await post(`${keystone}/auth/tokens`, {
    auth: { identity: { methods: ["password"], password }, scope },
  });
  const { token } = (await response.json()) as { readonly token: { readonly project: { readonly id: string } } };
  return { project: token.project.id, token: response.headers.get("x-subject-token") ?? "" };
}

async function addProject(keystone: string, token: string, name: string): Promise<ProjectToken> {
  const idOf = async (response: Response, key: string) =>
    ((await response.json()) as Readonly<Record<string, { readonly id: string }>>)[key]?.id ?? "";
  const of = { name, domain_id: "default" };
  const project = await idOf(await post(`${keystone}/projects`, { project: of }, token), "project");
  const user = await idOf(await post(`${keystone}/users`, { user: { ...of, password: name } }, token), "user");
  const headers = { "x-auth-token": token };
  const { roles } = (await (await fetch(`${keystone}/roles?name=member`, { headers })).json()) as {
    readonly roles: readonly { readonly id: string }[];
  };
  const grant = `${keystone}/projects/${project}/users/${user}/roles/${roles[0]?.id}`;
  await fetch(grant, { method: "PUT", headers });
  return tokenOf(keystone, { user: name, password: name, project: name });
}

/** Adds Glance to the catalog. */
async function register(keystone: string, token: string, glance: string): Promise<void> {
  const made = await post(`${keystone}/services`, { service: { name: "glance", type: "image" } }, token);
  const { service } = (await made.json()) as { readonly service: { readonly id: string } };
  const endpoint = { service_id: service.id, interface: "public", region_id: "RegionOne", url: glance };
  await post(`${keystone}/endpoints`, { endpoint }, token);
}

async function post(url: string, body: unknown, token?: string): Promise<Response> {
  const headers = { "content-type": "application/json", ...(token === undefined ? {} : { "x-auth-token": token }) };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) {
    throw new Error(`POST ${url} answered ${response.status}: ${await response.text()}`);
  }
  return response;
}

/**
 * Waits for the service's first response. @throws with the last log output, if the service ends or does not respond
 * within two minutes.
 */
async function waitForStatus(
  url: string,
  statuses: readonly number[],
  child: ChildProcess,
  log: string,
): Promise<void> {
  const deadline = performance.now() + 120_000;
  for (;;) {
    const status = await fetch(url).then(
      (response) => response.status,
      () => 0,
    );
    if (statuses.includes(status)) {
      return;
    }
    if (child.exitCode !== null || performance.now() > deadline) {
      const logText = await readFile(log, "utf8").catch(() => "nothing");
      throw new Error(`${url} does not answer (last: ${status}); its log ends with: ${logText.slice(-2000)}`);
    }
    await sleep(100);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const end = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await end;
  }
}
