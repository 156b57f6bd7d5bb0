import { beforeEach, describe, expect, it } from "vitest";
import { type RemovalParts, removeHost } from "../../../../../src/cli/cluster/host/remove-host.js";
import type { HostProcess } from "../../../../../src/conductor-client/methods/session.js";

interface FakeServer {
  id: string;
  name: string;
  status: string;
  "OS-EXT-STS:task_state": string | null;
  fault?: { message: string };
}

/** A cloud with one host. */
class Cloud {
  service: Record<string, unknown> | undefined = {
    id: "s1",
    host: "h1",
    state: "up",
    status: "enabled",
    disabled_reason: null,
    forced_down: false,
  };
  servers: FakeServer[] = [];
  agent: HostProcess["state"] = "serving";
  startFails = false;
  forgotten = false;
  left: number[] = [];
  /** Whether other hosts have room for evacuated servers. */
  hasRoom = true;
  readonly log: string[] = [];

  readonly parts: RemovalParts = {
    session: { request: async (_service, method, path, _version, body) => this.#respond(method, path, body) },
    timers: {
      sleep: async () => {
        for (const server of this.servers.filter((each) => each["OS-EXT-STS:task_state"] !== null)) {
          server["OS-EXT-STS:task_state"] = null;
          server.fault = { message: "No valid host was found." };
          this.servers = this.hasRoom ? this.servers.filter((each) => each !== server) : this.servers;
        }
      },
    },
    process: async () => this.#process(),
    control: async (_host, action) => {
      this.log.push(action);
      if (action === "start" && this.startFails) {
        throw new Error("refused");
      }
      this.agent = action === "start" ? "serving" : "stopped";
      return this.#process();
    },
    forget: async () => {
      this.forgotten = true;
    },
    progress: (_host, left) => void this.left.push(left),
  };

  boot(...names: string[]): void {
    this.servers = names.map((name) => ({ id: name, name, status: "ACTIVE", "OS-EXT-STS:task_state": null }));
  }

  #process(): HostProcess {
    const nothing = { pid: 1, process: "own", driver: null, since: 0, reason: "", exitCode: null, log: null };
    return { host: "h1", state: this.agent, ...nothing };
  }

  #respond(method: string, path: string, body: unknown): unknown {
    if (method === "GET") {
      return path.startsWith("/os-services")
        ? { services: this.service === undefined ? [] : [this.service] }
        : { servers: this.servers };
    }
    this.log.push(`${method} ${path}${body === undefined ? "" : ` ${JSON.stringify(body)}`}`);
    if (method === "PUT") {
      this.service = { ...this.service, disabled_reason: null, ...(body as object) };
    } else if (method === "DELETE") {
      this.service = undefined;
    } else {
      const server = this.servers.find(({ id }) => path.includes(`/${id}/`));
      if (server !== undefined) {
        server["OS-EXT-STS:task_state"] = "rebuilding";
      }
    }
    return null;
  }
}

let cloud: Cloud;
beforeEach(() => {
  cloud = new Cloud();
});

const REASON = "compute-agent host remove is removing this host";

describe("the removal of a host", () => {
  it("disables, stops, deletes and forgets", async () => {
    await removeHost("h1", false, cloud.parts);
    expect(cloud.log).toEqual([
      `PUT /os-services/s1 {"status":"disabled","disabled_reason":"${REASON}"}`,
      "stop",
      "DELETE /os-services/s1",
    ]);
    expect(cloud.forgotten).toBe(true);
  });

  it("is rejected while there are servers, and leaves the host unchanged", async () => {
    cloud.boot("vm1");
    await expect(removeHost("h1", false, cloud.parts)).rejects.toThrow("h1 has 1 server (vm1); move or delete it");
    expect(cloud.service).toMatchObject({ status: "enabled" });
    expect([cloud.agent, cloud.forgotten]).toEqual(["serving", false]);
  });

  it("does not enable a service that an operator had disabled", async () => {
    cloud.boot("vm1");
    cloud.service = { ...cloud.service, status: "disabled", disabled_reason: "a bad fan" };
    await expect(removeHost("h1", false, cloud.parts)).rejects.toThrow();
    expect(cloud.service).toMatchObject({ status: "disabled", disabled_reason: "a bad fan" });
  });

  it("evacuates servers from a host that is down, and lets the host clean up", async () => {
    cloud.boot("vm1", "vm2");
    await removeHost("h1", true, cloud.parts);
    expect(cloud.log.slice(1)).toEqual([
      "stop",
      'PUT /os-services/s1 {"forced_down":true}',
      'POST /servers/vm1/action {"evacuate":{}}',
      'POST /servers/vm2/action {"evacuate":{}}',
      "start",
      "stop",
      "DELETE /os-services/s1",
    ]);
    expect(cloud.left).toEqual([2, 0]);
  });

  it("removes allocations of evacuated servers by force if the host cannot start", async () => {
    cloud.boot("vm1");
    cloud.startFails = true;
    await removeHost("h1", true, cloud.parts);
    expect(cloud.log.at(-1)).toBe("DELETE /os-services/s1?force=true");
  });

  it("reports why a server stays, requests its evacuation once, and can be repeated", async () => {
    cloud.boot("vm1");
    cloud.hasRoom = false;
    const evacuationError = "1 server (vm1) could not be evacuated from h1: No valid host was found.";
    await expect(removeHost("h1", true, cloud.parts)).rejects.toThrow(evacuationError);
    expect(cloud.log.filter((line) => line.startsWith("POST"))).toHaveLength(1);
    expect(cloud.forgotten).toBe(false);
    cloud.hasRoom = true;
    await removeHost("h1", true, cloud.parts);
    expect([cloud.service, cloud.forgotten]).toEqual([undefined, true]);
  });

  it("continues from wherever it was interrupted", async () => {
    cloud.service = undefined;
    await removeHost("h1", false, cloud.parts);
    expect([cloud.log, cloud.forgotten]).toEqual([["stop"], true]);
  });
});
