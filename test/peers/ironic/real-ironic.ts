import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { Agent, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LastWill } from "../../process/support/last-will.js";
import { freePort } from "../placement/real-placement.js";
import {
  available,
  type IronicClient,
  type IronicReply,
  type IronicRequest,
  put,
  remove,
  replyOf,
} from "./contract/client.js";

const run = promisify(execFile);

export const HOW_TO_INSTALL =
  "the real Ironic is not installed; on Debian: apt-get install ironic-api ironic-conductor python3-pymysql mariadb-server";

export interface RealIronic extends IronicClient {
  /**
   * Enrols nodes 0 to `count` - 1 like the embedded Ironic's `enrolNodes`, except for ports and traits. MariaDB only.
   * @param traits traits of each node
   */
  enrol(count: number, traits?: readonly string[]): Promise<void>;
  /** Kills the processes of the API or the conductor like `kill -9`. */
  kill(part: "api" | "conductor"): Promise<void>;
  /** Starts the service again after {@link kill}, on the same ports with the same database. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface RealIronicOptions {
  /** Delays of the fake hardware in whole seconds; default 0. */
  readonly deployDelay?: number;
  readonly powerDelay?: number;
  /** If absent, there is no automated cleaning. */
  readonly cleanDelay?: number;
  /** Default `mariadb`; `sqlite` starts faster, and its times have fractions of seconds. */
  readonly database?: "mariadb" | "sqlite";
}

export function isInstalled(database: "mariadb" | "sqlite" = "mariadb"): boolean {
  return [
    "/usr/bin/ironic-api",
    "/usr/bin/ironic-conductor",
    ...(database === "mariadb" ? ["/usr/sbin/mariadbd"] : []),
  ].every((path) => existsSync(path));
}

/** Starts Debian's Ironic with fake hardware and an empty database on free ports of the loopback interface. */
export async function startRealIronic(options: RealIronicOptions = {}): Promise<RealIronic> {
  const { deployDelay = 0, powerDelay = 0, cleanDelay, database = "mariadb" } = options;
  const state = await mkdtemp(join(tmpdir(), "real-ironic-"));
  const [port, rpcPort] = [await freePort(), await freePort()];
  const env = {
    ...process.env,
    DEPLOY_DELAY: String(deployDelay),
    POWER_DELAY: String(powerDelay),
    CLEAN_DELAY: cleanDelay === undefined ? "" : String(cleanDelay),
  };
  const start = (kind: string) => run(script("start-real.sh"), [state, String(port), String(rpcPort), kind], { env });
  const agent = new Agent({ keepAlive: true });
  const halt = () => run(script("stop-real.sh"), [state]);
  const end = new LastWill(script("stop-real.sh"), [state]);
  const stop = async () => {
    agent.destroy();
    await end.execute();
    await rm(state, { recursive: true, force: true });
  };
  try {
    await start(database);
  } catch (error) {
    await stop();
    throw error;
  }
  const root = `http://127.0.0.1:${port}`;
  const client: IronicClient = {
    root,
    sendAll: (requests) => Promise.all(requests.map((request) => send(agent, root, request))),
    wait: () => sleep(50),
  };
  return {
    ...client,
    enrol: async (count, traits = []) => {
      const template = await available(client);
      if (traits.length > 0) {
        await put(client, `${template.path}/traits`, { traits });
      }
      await run(script("enrol-real.sh"), [state, template.uuid, "0", String(count)]);
      await remove(client, template.path);
    },
    kill: async (part) => {
      // Each part leads its own process group.
      process.kill(-Number(await readFile(join(state, `${part}.pid`), "utf8")), "SIGKILL");
    },
    restart: async () => {
      await halt();
      await start("kept");
    },
    stop,
  };
}

function send(
  agent: Agent,
  root: string,
  { method, path, body, version = "1.82" }: IronicRequest,
): Promise<IronicReply> {
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      ...(version === null ? {} : { "x-openstack-ironic-api-version": version }),
    };
    const sent = httpRequest(root + path, { method, headers, agent }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("end", () => {
        const flat = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
        try {
          resolve(replyOf(response.statusCode ?? 0, flat, Buffer.concat(parts).toString()));
        } catch (error) {
          reject(error);
        }
      });
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
