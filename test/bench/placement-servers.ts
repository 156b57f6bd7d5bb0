import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { World } from "./placement-data.js";

const run = promisify(execFile);
/** The package, relative to dist/test/bench. */
const root = fileURLToPath(new URL("../../..", import.meta.url));

export interface Server {
  readonly url: string;
  readonly pid: number;
  /** Milliseconds from the start until the first response. */
  readonly started: number;
  stop(): Promise<void>;
}

async function node(args: readonly string[], ready: RegExp): Promise<Server> {
  const start = performance.now();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (data: Buffer) => {
      text += data.toString();
      const match = ready.exec(text);
      if (match?.[1] !== undefined) {
        resolve(match[1]);
      }
    });
    child.once("exit", () => reject(new Error(`ended without ${ready}: ${text}`)));
  });
  await fetch(url).then((response) => response.text());
  return { url, pid: child.pid ?? 0, started: performance.now() - start, stop: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return;
  }
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
}

/** Starts the stand-alone server over a file, like the real one. */
export async function startEmbedded(folder: string): Promise<Server> {
  const database = join(folder, "placement.sqlite");
  const args = [
    join(root, "dist/bin/compute-cluster.js"),
    "placement",
    "--port",
    "0",
    "--auth-strategy",
    "noauth2",
    "--database",
    database,
  ];
  return node(args, /ready at (http:\S+)/);
}

export async function startCeiling(): Promise<Server> {
  return node([fileURLToPath(new URL("placement-ceiling.js", import.meta.url))], /ready at (http:\S+)/);
}

export type RealDatabase = "sqlite" | "mariadb";

export function realDatabase(): RealDatabase | undefined {
  if (!existsSync("/usr/bin/gunicorn") || !existsSync("/usr/lib/python3/dist-packages/placement")) {
    return undefined;
  }
  return existsSync("/usr/sbin/mariadbd") ? "mariadb" : "sqlite";
}

/** Starts Debian's Placement with two workers and prefilled data. */
export async function startReal(database: RealDatabase, world: World): Promise<Server> {
  const scripts = join(root, "test/peers/placement");
  const state = await mkdtemp(join(tmpdir(), "bench-real-placement-"));
  const port = await freePort();
  const stop = async () => {
    await run(join(scripts, "stop-real.sh"), [state]);
    await rm(state, { recursive: true, force: true });
  };
  try {
    const start = performance.now();
    await run(join(scripts, "start-real.sh"), [state, String(port), "2", database]);
    const started = performance.now() - start;
    await run(
      "/usr/bin/python3",
      [join(scripts, "real_placement.py"), "populate", String(world.providers), String(world.consumers)],
      { env: { ...process.env, OS_PLACEMENT_CONFIG_DIR: state, PYTHONDONTWRITEBYTECODE: "1" } },
    );
    const pid = Number(await readFile(join(state, "pid"), "utf8"));
    return { url: `http://127.0.0.1:${port}`, pid, started, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Returns a process's resident set in MiB. */
export async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}
