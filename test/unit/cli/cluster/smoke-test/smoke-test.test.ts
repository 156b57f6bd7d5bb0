import { describe, expect, test } from "vitest";
import type { SmokeTestResult } from "../../../../../src/cli/cluster/smoke-test/operations.js";
import { SmokeTest, type SmokeTestOptions } from "../../../../../src/cli/cluster/smoke-test/smoke-test.js";
import { CloudRequestFailed } from "../../../../../src/control-plane/local/cloud-session.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";

interface Server {
  id: string;
  status: string;
  "OS-EXT-STS:task_state": string | null;
  "OS-EXT-SRV-ATTR:host": string;
}

const HOST = "OS-EXT-SRV-ATTR:host";

/** The result of an action: the new status, or a failure. */
type Outcome = string | { readonly fails: string } | { readonly hangs: string } | { readonly rejected: string };

const OUTCOMES: Readonly<Record<string, Outcome>> = {
  create: "ACTIVE",
  reboot: "ACTIVE",
  pause: "PAUSED",
  unpause: "ACTIVE",
  suspend: "SUSPENDED",
  resume: "ACTIVE",
  "os-stop": "SHUTOFF",
  "os-start": "ACTIVE",
  rescue: "RESCUE",
  unrescue: "ACTIVE",
  rebuild: "ACTIVE",
  shelve: "SHELVED_OFFLOADED",
  unshelve: "ACTIVE",
  migrate: "VERIFY_RESIZE",
  confirmResize: "ACTIVE",
  resize: "VERIFY_RESIZE",
  revertResize: "ACTIVE",
  "os-migrateLive": "ACTIVE",
  abort: "ACTIVE",
  evacuate: "ACTIVE",
  delete: "",
};

/**
 * Simulates the Compute API as far as a smoke test uses it. Each action takes effect immediately, except that the second
 * live migration keeps running.
 */
function cloud(changes: Readonly<Record<string, Outcome>> = {}) {
  const outcomes = { ...OUTCOMES, ...changes };
  const servers = new Map<string, Server>();
  const images = new Map<string, string>();
  const requests: string[] = [];
  let failure: string | null = null;
  let late = false;
  const live: string[] = [];
  const act = (server: Server, action: string) => {
    requests.push(action);
    const outcome = outcomes[action] ?? "ACTIVE";
    failure = null;
    if (typeof outcome === "string") {
      if (action === "delete") {
        servers.delete(server.id);
      }
      if (action === "os-migrateLive") {
        live.push(live.length === 0 ? "completed" : "running");
      }
      if (action === "evacuate" || (action === "os-migrateLive" && live.at(-1) === "completed")) {
        server[HOST] = server[HOST] === "host1" ? "host2" : "host1";
      }
      server.status = outcome;
    } else if ("rejected" in outcome) {
      throw new CloudRequestFailed("POST", "/servers/action", 409, outcome.rejected);
    } else if ("fails" in outcome) {
      failure = outcome.fails;
      if (action === "shelve") {
        images.set(`image of ${server.id}`, server.id);
      }
    } else {
      server["OS-EXT-STS:task_state"] = outcome.hangs;
    }
  };
  const request: SmokeTestOptions["session"]["request"] = async (_, method, path, __, body) => {
    const [, , id = "", more = "", action = ""] = path.split("/");
    if (path.startsWith("/v2/images?instance_uuid=")) {
      const ids = [...images].filter(([, server]) => path.endsWith(`=${server}`)).map(([image]) => image);
      return { images: ids.map((image) => ({ id: image })) };
    }
    if (path.startsWith("/v2/images/")) {
      return images.delete(more);
    }
    if (path.startsWith("/os-migrations")) {
      const migrations = live.map((status, id) => ({ id, status }));
      // The migration's status changes only after the server's status has.
      if (late) {
        late = false;
        live[live.length - 1] = "completed";
      }
      return { migrations };
    }
    if (method === "POST" && path === "/servers") {
      const server = { id: `s${requests.length}`, status: "BUILD" } as Server;
      server["OS-EXT-STS:task_state"] = null;
      server[HOST] = "host1";
      servers.set(server.id, server);
      act(server, "create");
      return { server };
    }
    const server = servers.get(id);
    if (server === undefined) {
      throw new CloudRequestFailed(method, path, 404, "");
    }
    if (more === "migrations" && method === "GET") {
      return {
        migrations: live.map((status, at) => ({ id: at, status })).filter(({ status }) => status === "running"),
      };
    }
    if (more === "migrations") {
      const ends = outcomes.abort;
      const tooLate = typeof ends === "object" && "fails" in ends && ends.fails.startsWith("it has arrived");
      live[Number(action)] = tooLate ? "running" : "cancelled";
      late = tooLate;
      return act(server, "abort");
    }
    if (method === "DELETE") {
      return act(server, "delete");
    }
    if (method === "POST") {
      return act(server, Object.keys(body as object)[0] ?? "");
    }
    if (more === "") {
      return { server: { ...server } };
    }
    if (action === "") {
      return { instanceActions: [{ request_id: "req-1", message: failure === null ? null : "Error" }] };
    }
    return { instanceAction: { events: [{ result: "Error", details: failure }] } };
  };
  return { session: { request }, servers, images, requests: requests };
}

async function drilled(
  changes: Readonly<Record<string, Outcome>>,
  options: Partial<SmokeTestOptions> = {},
): Promise<{
  readonly results: readonly SmokeTestResult[];
  readonly of: (name: string) => string;
  requests: string[];
  left: number;
  readonly images: number;
  readonly leftovers: readonly string[];
}> {
  const runtime = createVirtualRuntime();
  const { session, servers, images, requests } = cloud(changes);
  const failHost = async (host: string) => {
    requests.push(`${host} fails`);
    return async () => void requests.push(`${host} is back`);
  };
  const smokeTest = new SmokeTest({
    session,
    clock: runtime.clock,
    timers: runtime.timers,
    places: { image: "i", flavor: "f", largerFlavor: "g" },
    hosts: 2,
    timeoutMs: 5_000,
    callsSince: async () => "",
    failHost,
    ...options,
  });
  const results = await runtime.runUntil(
    smokeTest.run(() => {}),
    { limit: 3_600_000 },
  );
  const of = (name: string) => {
    const { outcome = "absent", reason = "" } = results.find(({ operation }) => operation === name) ?? {};
    return reason === "" ? outcome : `${outcome}: ${reason}`;
  };
  return { results, of, requests, left: servers.size, images: images.size, leftovers: smokeTest.leftovers };
}

describe("Drill", () => {
  test("each operation runs once, on one server, which is deleted at the end", async () => {
    const { results, requests, left } = await drilled({});
    expect(results.filter(({ outcome }) => outcome !== "ok")).toEqual([]);
    expect(results).toHaveLength(22);
    expect(requests.filter((action) => action === "create")).toHaveLength(1);
    expect(left).toBe(0);
  });

  test("operations that the driver lacks are unsupported, and dependent ones are skipped", async () => {
    const { of } = await drilled({ suspend: { fails: "driver mine has no suspend: use a driver that has it" } });
    expect(of("suspend")).toBe("unsupported: driver mine has no suspend: use a driver that has it");
    expect(of("resume")).toBe("skipped: no server came to SUSPENDED");
    expect(of("stop")).toBe("ok");
  });

  test("a failing driver: the result has the first line of the error, and the test continues with the server", async () => {
    const { of, left } = await drilled({ pause: { fails: "PauseFailed: out of paper\n  at pause" } });
    expect(of("pause")).toBe("failed: PauseFailed: out of paper");
    expect(of("delete")).toBe("ok");
    expect(left).toBe(0);
  });

  test("an operation fails when the server that it needs cannot be created", async () => {
    const rejected = { create: { rejected: "Image i is not active." } };
    const { of } = await drilled(rejected, { only: ["suspend", "resume"] });
    const reason = /^failed: no server came to \w+: create failed: .*Image i is not active/;
    expect([of("suspend"), of("resume")]).toEqual([expect.stringMatching(reason), expect.stringMatching(reason)]);
    const all = await drilled(rejected);
    expect(all.of("create")).toMatch(/^failed: .*Image i is not active/);
    expect(all.of("suspend")).toBe("skipped: no server came to ACTIVE");
  });

  test("an operation fails when one that leads to it fails without a result of its own", async () => {
    const broken = { suspend: { fails: "out of paper" } };
    const { of } = await drilled(broken, { only: ["resume"] });
    expect(of("resume")).toBe("failed: no server came to SUSPENDED: suspend failed: out of paper");
    const lacks = { suspend: { fails: "driver mine has no suspend: use a driver that has it" } };
    expect((await drilled(lacks, { only: ["resume"] })).of("resume")).toBe("skipped: no server came to SUSPENDED");
  });

  test("the image of a failed shelve is deleted with the smoke test's server", async () => {
    const { of, left, images } = await drilled({ shelve: { fails: "driver mine has no snapshot: use a driver" } });
    expect(of("shelve")).toMatch(/^unsupported/);
    expect([left, images]).toEqual([0, 0]);
    expect((await drilled({ shelve: { fails: "no disk" } }, { only: ["shelve"] })).images).toBe(0);
  });

  test("a server that cannot be deleted is reported as left over", async () => {
    const { left, leftovers } = await drilled({ delete: { hangs: "deleting" } }, { only: ["pause"] });
    expect(left).toBe(1);
    expect(leftovers).toEqual([expect.stringMatching(/^server s0: expected no server after 5 s/)]);
    expect((await drilled({})).leftovers).toEqual([]);
  });

  test("a hanging driver: the smoke test waits until its timeout, then continues with a new server", async () => {
    const { of, results, requests } = await drilled({ "os-stop": { hangs: "powering-off" } });
    expect(of("stop")).toBe("failed: expected SHUTOFF after 5 s, found ACTIVE, task_state powering-off");
    expect(results.find(({ operation }) => operation === "stop")?.milliseconds).toBeGreaterThanOrEqual(5_000);
    expect(of("start")).toBe("skipped: no server came to SHUTOFF");
    expect(of("rescue")).toBe("ok");
    expect(requests.filter((action) => action === "os-stop")).toHaveLength(1);
    expect(requests.filter((action) => action === "create")).toHaveLength(2);
  });

  test("an operation that the API rejects has the API's response as its reason", async () => {
    const { of } = await drilled({ rebuild: { rejected: "Cannot 'rebuild' instance" } });
    expect(of("rebuild")).toMatch(/^failed: .*failed with status 409: Cannot 'rebuild' instance/);
  });

  test("with one host, moves are skipped", async () => {
    const { results } = await drilled({}, { hosts: 1 });
    const skipped = results.filter(({ outcome }) => outcome === "skipped");
    expect(new Set(skipped.map(({ reason }) => reason))).toEqual(new Set(["it needs two hosts that are up"]));
    expect(skipped.map(({ operation }) => operation)).toEqual([
      "cold migrate",
      "confirm migration",
      "resize",
      "revert resize",
      "live migrate",
      "abort live migration",
      "evacuate",
    ]);
    expect(results.filter(({ outcome }) => outcome === "ok")).toHaveLength(15);
  });

  test("a live migration without a valid host is unsupported when no driver was called, else it failed", async () => {
    const none = { "os-migrateLive": { fails: "No valid host was found." } };
    expect((await drilled(none)).of("live migrate")).toBe(
      "unsupported: No valid host was found. No call of the driver is recorded: it may lack methods of this move",
    );
    const driverCalled = await drilled(none, { callsSince: async () => "checkCanLiveMigrateDestination (error)" });
    expect(driverCalled.of("live migrate")).toBe("failed: No valid host was found.");
  });

  test("a live migration that leaves the server where it is has failed", async () => {
    const { of } = await drilled({ "os-migrateLive": { hangs: "migrating" } });
    expect(of("live migrate")).toBe("failed: expected ACTIVE after 5 s, found ACTIVE, task_state migrating");
  });

  test("a live migration is aborted while it runs; one that ended before is no failure", async () => {
    const { of, requests } = await drilled({}, { only: ["live migrate", "abort live migration"] });
    expect(of("abort live migration")).toBe("ok");
    expect(requests).toEqual(["create", "os-migrateLive", "os-migrateLive", "abort", "delete"]);
    const fast = await drilled({}, { only: ["abort live migration"] });
    expect(fast.of("abort live migration")).toBe("skipped: the migration ended before it could be aborted");
    const tooLate = { abort: { fails: "it has arrived" } };
    const moments = await drilled(tooLate, { only: ["live migrate", "abort live migration"] });
    expect(moments.of("abort live migration")).toBe("skipped: the migration ended before it could be aborted");
    const none = { abort: { fails: "driver mine has no liveMigrationAbort: use a driver that has it" } };
    const without = await drilled(none, { only: ["live migrate", "abort live migration"] });
    expect(without.of("abort live migration")).toMatch(/^unsupported: driver mine has no liveMigrationAbort/);
  });

  test("a host fails before its server is evacuated, and comes back afterwards, whatever the result", async () => {
    const { of, requests } = await drilled({}, { only: ["evacuate"] });
    expect(of("evacuate")).toBe("ok");
    expect(requests).toEqual(["create", "host1 fails", "evacuate", "host1 is back", "delete"]);
    const rejected = await drilled({ evacuate: { rejected: "no" } }, { only: ["evacuate"] });
    expect(rejected.of("evacuate")).toMatch(/^failed: .*failed with status 409/);
    expect(rejected.requests).toContain("host1 is back");
    const lost = async () => () => Promise.reject(new Error("the agent of host1 did not start again within 5 s"));
    const gone = await drilled({}, { only: ["evacuate"], failHost: lost });
    expect(gone.of("evacuate")).toBe("failed: the agent of host1 did not start again within 5 s");
    const alone = () => Promise.resolve("nobody would start it again");
    const skipped = await drilled({}, { only: ["evacuate"], failHost: alone });
    expect(skipped.of("evacuate")).toBe("skipped: nobody would start it again");
  });

  test("with selected operations, a server is brought to the status that each requires", async () => {
    const { results, requests } = await drilled({}, { only: ["confirm migration"] });
    expect(results.map(({ operation, outcome }) => [operation, outcome])).toEqual([["confirm migration", "ok"]]);
    expect(requests).toEqual(["create", "migrate", "confirmResize", "delete"]);
  });

  test("an interrupted smoke test deletes its server and runs nothing more", async () => {
    const interrupt = new AbortController();
    const { results, requests, left } = await drilled(
      { pause: { hangs: "pausing" } },
      {
        signal: interrupt.signal,
        callsSince: async () => {
          interrupt.abort();
          return "";
        },
      },
    );
    expect(results).toEqual([]);
    expect(requests).toEqual(["create", "delete"]);
    expect(left).toBe(0);
  });
});
