import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { NODE_FIELDS } from "../../drivers/ironic/client/ironic-node.js";
import { freePort } from "./placement-servers.js";

const run = promisify(execFile);
/** The package's scripts, relative to dist/test/bench. */
const scripts = fileURLToPath(new URL("../../../test/peers/ironic", import.meta.url));
const NEEDED = ["/usr/bin/ironic-api", "/usr/bin/ironic-conductor", "/usr/sbin/mariadbd"];

export const ironicIsInstalled = (): boolean => NEEDED.every((path) => existsSync(path));

/** Debian's Ironic with fake hardware, over MariaDB. */
export interface BenchIronic {
  readonly url: string;
  /** Folder of its files. */
  readonly state: string;
  /** Enrolls nodes `first` to `first + count - 1` of class `baremetal`, available and powered off. */
  enrol(first: number, count: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startIronic(): Promise<BenchIronic> {
  const state = await mkdtemp(join(tmpdir(), "bench-real-ironic-"));
  const [port, rpcPort] = [await freePort(), await freePort()];
  const stop = async () => {
    await run(join(scripts, "stop-real.sh"), [state]);
    await rm(state, { recursive: true, force: true });
  };
  try {
    await run(join(scripts, "start-real.sh"), [state, String(port), String(rpcPort), "mariadb"]);
    const url = `http://127.0.0.1:${port}`;
    const enrol = async (first: number, count: number) => {
      const template = await makeTemplate(url);
      await run(join(scripts, "enrol-real.sh"), [state, template, String(first), String(count)]);
      await send(url, "DELETE", `/v1/nodes/${template}`);
    };
    return { url, state, enrol, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Lists all nodes with the driver's own requests, without further processing. */
export async function bareListing(url: string): Promise<number> {
  let listed = 0;
  let next = `/v1/nodes?fields=${NODE_FIELDS}`;
  while (next !== "") {
    const page = await send(url, "GET", next);
    const nodes = page.nodes as readonly unknown[];
    listed += nodes.length;
    next = typeof page.next === "string" ? page.next.slice(url.length) : "";
  }
  return listed;
}

async function makeTemplate(url: string): Promise<string> {
  const { uuid } = await send(url, "POST", "/v1/nodes", {
    driver: "fake-hardware",
    resource_class: "baremetal",
    properties: { cpus: 48, memory_mb: 196_608, local_gb: 960, cpu_arch: "x86_64" },
  });
  const path = `/v1/nodes/${String(uuid)}`;
  for (const [target, state] of [
    ["manage", "manageable"],
    ["provide", "available"],
  ]) {
    await send(url, "PUT", `${path}/states/provision`, { target });
    await until(url, path, ({ provision_state: now, reservation }) => now === state && reservation === null);
  }
  await send(url, "PUT", `${path}/states/power`, { target: "power off" });
  await until(url, path, ({ power_state: now, reservation }) => now === "power off" && reservation === null);
  return String(uuid);
}

async function until(url: string, path: string, holds: (node: IronicBody) => boolean): Promise<void> {
  while (!holds(await send(url, "GET", path))) {
    await pause(50);
  }
}

type IronicBody = Readonly<Record<string, unknown>>;

async function send(url: string, method: string, path: string, body?: unknown): Promise<IronicBody> {
  const response = await fetch(url + path, {
    method,
    headers: { "content-type": "application/json", "x-openstack-ironic-api-version": "1.82" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`${method} ${path}: ${response.status} ${text}`);
  }
  return text === "" ? {} : (JSON.parse(text) as IronicBody);
}
