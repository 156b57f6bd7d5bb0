import { writeFile } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { LocalCloud } from "../process/support/local-cloud.js";
import { Operator } from "../process/support/operator.js";
import { Program } from "../process/support/program.js";

const HOLDS = { devstack1: { DISK_GB: 1, MEMORY_MB: 512, VCPU: 1 } };

let cloud: LocalCloud;
let operator: Operator;
let gate: Server;
/**
 * Called for each PUT of allocations before it is forwarded, and again before its response is. Returns whether to block it.
 */
let held: (when: "before" | "after") => boolean = () => false;

/** Forwards to Placement, and can block a request or its response forever. */
async function forward(method: string, path: string, text: string, headers: Headers, response: ServerResponse) {
  const writes = method === "PUT" && path.startsWith("/allocations/");
  if (writes && held("before")) {
    return;
  }
  const body = text === "" ? {} : { body: text };
  const upstream = await fetch(`${cloud.url}/placement${path}`, { method, headers, ...body });
  if (writes && held("after")) {
    return;
  }
  response.writeHead(upstream.status, Object.fromEntries(upstream.headers)).end(await upstream.text());
}

beforeAll(async () => {
  cloud = await LocalCloud.start();
  operator = new Operator(cloud);
  await cloud.startAgent("devstack1");
  gate = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) {
      text += String(chunk);
    }
    const headers = new Headers();
    for (const name of ["x-auth-token", "content-type", "openstack-api-version"]) {
      const value = request.headers[name];
      if (value !== undefined) {
        headers.set(name, String(value));
      }
    }
    await forward(request.method ?? "", request.url ?? "", text, headers, response);
  });
  await new Promise<void>((resolve) => gate.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  gate.closeAllConnections();
  gate.close();
  await cloud.dispose();
});

function heal(...args: string[]): Program {
  return new Program("compute-cluster", [
    "manage",
    "placement",
    "heal_allocations",
    "--state-dir",
    cloud.stateDir,
    ...args,
  ]);
}

it.each(["before", "after"] as const)(
  "7.3 kill -9 of heal_allocations %s its second write: the next run completes it",
  async (when) => {
    const servers = await Promise.all(["vm1", "vm2"].map((name) => operator.boot(name)));
    for (const id of servers) {
      await operator.serverIn(id, "ACTIVE");
      expect((await cloud.placement("DELETE", `/allocations/${id}`)).status).toBe(204);
    }
    const holdings = () => Promise.all(servers.map((id) => operator.held(id, ["devstack1"])));
    const config = join(cloud.stateDir, "gate.conf");
    const { port } = gate.address() as AddressInfo;
    await writeFile(
      config,
      `[placement]\nauth_type = admin_token\nendpoint = http://127.0.0.1:${port}\ntoken = ${await cloud.token()}\n`,
    );
    let writes = 0;
    const reached = new Promise<void>((resolve) => {
      held = (now) => {
        if (now === "before") {
          writes += 1;
        }
        const holds = writes === 2 && now === when;
        if (holds) {
          resolve();
        }
        return holds;
      };
    });

    const killed = heal("--config-file", config);
    await reached;
    await killed.kill();
    expect((await killed.exited).signal).toBe("SIGKILL");
    const [done, open] = (await holdings()).toSorted((a, b) => Object.keys(b).length - Object.keys(a).length);
    expect([done, open]).toEqual([HOLDS, when === "after" ? HOLDS : {}]);

    const next = heal();
    expect((await next.exited).code, next.stdout).toBe(when === "after" ? 4 : 0);
    expect(await holdings()).toEqual([HOLDS, HOLDS]);
    for (const id of servers) {
      await cloud.compute("DELETE", `/servers/${id}`);
      await cloud.eventually(
        () => cloud.compute("GET", `/servers/${id}`),
        ({ status }) => status === 404,
      );
    }
  },
);
