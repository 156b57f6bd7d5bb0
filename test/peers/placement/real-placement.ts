import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

export const HOW_TO_INSTALL =
  "the real Placement is not installed; on Debian: apt-get install placement-api python3-placement gunicorn";

export interface RealPlacement {
  readonly url: string;
  readonly pid: number;
  /** Empties it except for the standard classes and traits. SQLite only. */
  reset(): Promise<void>;
  /** Kills all of its processes like `kill -9`. */
  kill(): void;
  /** Starts it again after {@link kill}, on the same port with the same database. SQLite only. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface RealPlacementOptions {
  /** Default 1. */
  readonly workers?: number;
  /** Default `sqlite`. */
  readonly database?: "sqlite" | "mariadb";
}

export function isInstalled(database: "sqlite" | "mariadb" = "sqlite"): boolean {
  const needed = ["/usr/bin/gunicorn", "/usr/lib/python3/dist-packages/placement/wsgi.py"];
  return [...needed, ...(database === "mariadb" ? ["/usr/sbin/mariadbd"] : [])].every((path) => existsSync(path));
}

/** Starts Debian's Placement with an empty database on a free port of the loopback interface. */
export async function startRealPlacement(options: RealPlacementOptions = {}): Promise<RealPlacement> {
  const { workers = 1, database = "sqlite" } = options;
  const state = await mkdtemp(join(tmpdir(), "real-placement-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    await run(script("stop-real.sh"), [state]);
    await rm(state, { recursive: true, force: true });
  };
  try {
    const start = async (kind: string) => {
      await run(script("start-real.sh"), [state, String(port), String(workers), kind]);
      return Number(await readFile(join(state, "pid"), "utf8"));
    };
    let pid = await start(database);
    const reset = async () => {
      const response = await fetch(`${url}/__reset__`, { method: "POST" });
      if (response.status !== 204) {
        throw new Error(`the real Placement could not be emptied: ${response.status}`);
      }
    };
    const restart = async () => {
      pid = await start("kept");
    };
    // It leads its own process group.
    const kill = () => void process.kill(-pid, "SIGKILL");
    return { url, pid, reset, kill, restart, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function script(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
