import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connectToConductor } from "../../src/conductor-client/connect-to-conductor.js";
import type { AgentHandlers, ConductorConnection } from "../../src/conductor-client/port.js";
import { openStore } from "../../src/control-plane/store/open-store.js";
import { createNodeLogger } from "../../src/runtime/node/node-logger.js";
import { createNodeRuntime } from "../../src/runtime/node/node-runtime.js";
import { agentHandlers } from "../fixtures/agent-handlers.js";

const PROGRAM = fileURLToPath(new URL("conductor-host.mjs", import.meta.url));
const TOKEN = "join-token";
const runtime = createNodeRuntime({ logger: createNodeLogger({ level: "fatal" }) });

/** A control plane in a child process that can be killed and restarted on the same port and file. */
class ControlPlane {
  readonly path: string;
  port = 0;
  #child: ChildProcess | undefined;

  constructor(path: string) {
    this.path = path;
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [PROGRAM, this.path, String(this.port), TOKEN], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    const [data] = (await once(child.stdout, "data")) as [Buffer];
    this.port = Number(data.toString());
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      const gone = once(child, "exit");
      child.kill("SIGKILL");
      await gone;
    }
  }
}

describe("the control plane as a process", () => {
  let folder = "";
  let plane: ControlPlane;
  const connections: ConductorConnection[] = [];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "conductor-"));
    plane = new ControlPlane(join(folder, "state.db"));
    await plane.start();
  });
  afterEach(async () => {
    for (const connection of connections.splice(0)) {
      await connection.close();
    }
    await plane.kill();
    rmSync(folder, { recursive: true });
  });

  const connect = () => {
    const backoff = () => 20;
    const url = `http://127.0.0.1:${plane.port}`;
    const connection = connectToConductor({ url, joinToken: TOKEN, runtime, backoff });
    connections.push(connection);
    return connection;
  };

  test("repeated kill -9 under load: every acknowledged write is stored exactly once", async () => {
    const connection = connect();
    const session = connection.host("devstack1");
    await session.acquireLease();
    const service = await session.call("service_create", {
      host: "devstack1",
      binary: "nova-compute",
      topic: "compute",
      version: 73,
      enableNewServices: true,
    });
    const rounds = 4;
    const writers = 16;
    let acknowledged = 0;
    let stop = false;
    const progress = new Progress();
    const write = async () => {
      while (!stop) {
        await session.call("service_report_state", { id: service.id });
        acknowledged += 1;
        progress.made();
      }
    };
    const writing = Array.from({ length: writers }, write);
    for (let round = 0; round < rounds; round += 1) {
      const target = acknowledged + 300;
      await progress.until(() => acknowledged >= target);
      await plane.kill();
      const acknowledgedBefore = acknowledged;
      const store = await openStore({ path: plane.path, runtime });
      const { reportCount } = store.services.get(service.id) ?? { reportCount: -1 };
      store.close();
      // At most the requests in flight may be written without having been acknowledged.
      expect(reportCount).toBeGreaterThanOrEqual(acknowledgedBefore);
      expect(reportCount).toBeLessThanOrEqual(acknowledgedBefore + writers);
      await plane.start();
    }
    stop = true;
    await Promise.all(writing);
    expect(await session.call("service_get_by_host", { host: "devstack1", binary: "nova-compute" })).toMatchObject({
      reportCount: acknowledged,
    });
    expect(session.leaseHeld).toBe(true);
  });

  test("one socket carries many hosts, each with its lease, its casts and its calls", async () => {
    const connection = connect();
    const hosts = Array.from({ length: 200 }, (_, index) => `host-${index}`);
    const taken = new Map<string, string[]>();
    const progress = new Progress();
    const sessions = hosts.map((name) => connection.host(name));
    await Promise.all(
      sessions.map(async (session) => {
        const mine: string[] = [];
        taken.set(session.host, mine);
        await session.acquireLease();
        await session.serve(handlersOf(mine, progress));
      }),
    );
    expect(sessions.every(({ leaseHeld }) => leaseHeld)).toBe(true);
    const neighbour = connect().host("neighbour");
    const instanceUuid = "00000000-0000-4000-8000-000000000001";
    for (const requestId of ["req-1", "req-2"]) {
      await Promise.all(hosts.map((host) => neighbour.castAgent(host, "start_instance", { instanceUuid, requestId })));
    }
    const shared = await neighbour.callAgent("host-7", "check_instance_shared_storage", { instanceUuid, token: {} });
    expect(shared).toBe(true);
    await progress.until(() => [...taken.values()].every((mine) => mine.length === 2));
    expect(new Set([...taken.values()].map(String))).toEqual(new Set(["req-1,req-2"]));
    await expect(connect().host("host-3").acquireLease()).rejects.toMatchObject({ code: "HostLeaseHeld" });
  });
});

function handlersOf(taken: string[], progress: Progress): AgentHandlers {
  return agentHandlers((_method, _params, requestId) => {
    taken.push(requestId);
    progress.made();
  });
}

/** Lets a test wait for a condition on what it counts. */
class Progress {
  readonly #waiting: { readonly reached: () => boolean; readonly resolve: () => void }[] = [];

  made(): void {
    for (const { reached, resolve } of this.#waiting) {
      if (reached()) {
        resolve();
      }
    }
  }

  async until(reached: () => boolean): Promise<void> {
    if (!reached()) {
      await new Promise<void>((resolve) => {
        this.#waiting.push({ reached, resolve });
      });
    }
  }
}
