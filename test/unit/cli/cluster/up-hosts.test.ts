import { beforeEach, describe, expect, it } from "vitest";
import type { HostSetting } from "../../../../src/cli/cluster/host-settings.js";
import { UpHosts } from "../../../../src/cli/cluster/up-hosts.js";
import type { HostProcess } from "../../../../src/conductor-client/methods/session.js";
import type { AgentPlan } from "../../../../src/control-plane/local/agent-process.js";

const PLAIN: HostSetting = { configFiles: [] };

function aProcess(host: string, more: Partial<HostProcess> = {}): HostProcess {
  const nothing = { pid: 1, driver: null, since: 0, reason: "", exitCode: null, log: null };
  return { host, state: "serving", process: "own", ...nothing, ...more };
}

let running: Map<string, HostProcess>;
let savedSettings: Map<string, HostSetting>;
let additions: Map<string, { hosts: readonly string[]; setting: HostSetting }>;
let replies: object[];
let started: string[];
let included: string[];
let added: AgentPlan[];
let restored: (readonly [snapshot: string | null, startHosts: boolean])[];
let isStopping: boolean;
let hosts: UpHosts;

beforeEach(() => {
  running = new Map(["h1", "h2"].map((host) => [host, aProcess(host)]));
  savedSettings = new Map(["control-plane", "h1", "h2", "h3"].map((host) => [host, PLAIN]));
  additions = new Map();
  [replies, started, included, added, restored, isStopping] = [[], [], [], [], [], false];
  const plansOf = (of: ReadonlyMap<string, HostSetting>): readonly AgentPlan[] =>
    [...of].map(([name, { driver = null, options = [] }]) => ({ name, hosts: [name], args: options, driver }));
  const supervisor: ReturnType<ConstructorParameters<typeof UpHosts>[0]["supervisor"]> = {
    get statuses() {
      return ["control-plane", "pool-1", ...running.keys()].map((name) => {
        return { name, state: "ready" as const, detail: "", pid: 1, exitCode: null, since: 0 };
      });
    },
    get hosts() {
      return [...running.values()];
    },
    host: (name) => running.get(name),
    control: async (host, action) => {
      const state = action === "start" ? "serving" : action === "stop" ? "stopped" : "killed";
      const found = running.get(host);
      return found === undefined ? undefined : { ...found, state };
    },
    add: (plans) => {
      added.push(...plans);
      for (const { name } of plans) {
        running.set(name, aProcess(name, { state: "starting" }));
      }
    },
    forget: (host) => void running.delete(host),
    notify: (message) => void replies.push(message),
    get isStopping() {
      return isStopping;
    },
  };
  hosts = new UpHosts({
    pid: 4711,
    onDown: () => void replies.push({ down: true }),
    onRestore: async (snapshot, startHosts) => void restored.push([snapshot, startHosts]),
    supervisor: () => supervisor,
    settingsStore: {
      get hosts() {
        return [...savedSettings.keys()];
      },
      get: (host) => savedSettings.get(host),
      keep: async (host, setting) => void savedSettings.set(host, setting),
      include: async (host) => void included.push(host),
      forget: async (host) => void savedSettings.delete(host),
    },
    plansOf,
    readAddition: async (id) => {
      const found = additions.get(id);
      if (found === undefined) {
        throw new Error("there is no such addition");
      }
      return found;
    },
    onStarted: async (host) => void started.push(host),
  });
});

async function ask(command: string, subject = ""): Promise<unknown> {
  await hosts.take({ type: "host-command", id: 7, command, subject });
  return replies.at(-1);
}

describe("operators' commands in up", () => {
  it("list running hosts, and known hosts that do not run", async () => {
    expect(await ask("list")).toMatchObject({
      id: 7,
      result: [
        { host: "h1", state: "serving" },
        { host: "h2", state: "serving" },
        { host: "h3", state: "stopped", process: null, reason: "compute-agent up was started without this host" },
      ],
    });
  });

  it("start a host that up was started without, with its settings, and enable scheduling to it", async () => {
    expect(await ask("start", "h3")).toMatchObject({ result: { host: "h3", state: "serving" } });
    expect(added.map(({ name }) => name)).toEqual(["h3"]);
    expect(started).toEqual(["h3"]);
    expect(included, "another start goes on with it").toEqual(["h3"]);
  });

  it("do nothing to a host that is already down, and reject unknown hosts", async () => {
    expect(await ask("kill", "h3")).toMatchObject({ result: { state: "stopped" } });
    expect(await ask("kill", "h4")).toEqual({ type: "host-answer", id: 7, result: null });
    expect(await ask("start", "control-plane")).toMatchObject({ result: null });
    expect(added).toEqual([]);
  });

  it("stop everything after the reply, which has the pid to wait for", async () => {
    await ask("down");
    expect(replies).toEqual([{ type: "host-answer", id: 7, result: 4711 }, { down: true }]);
  });

  it("leave requests during a restore to the next control plane", async () => {
    const listing = hosts.take({ type: "host-command", id: 8, command: "list", subject: "" });
    await ask("restore", "one");
    await listing;
    await ask("down");
    expect(replies.filter((reply) => !("id" in reply) || reply.id !== 8)).toEqual([
      { type: "host-answer", id: 7, result: 4711 },
      { down: true },
    ]);
  });

  it("restore a state by name or the one after the start, with or without starting hosts that are down", async () => {
    await ask("restore", "");
    await hosts.take({ type: "host-command", id: 8, command: "restore", subject: "one", startHosts: true });
    expect(restored).toEqual([
      [null, false],
      ["one", true],
    ]);
  });

  it("reject a restore while everything is being stopped", async () => {
    isStopping = true;
    expect(await ask("restore", "one")).toMatchObject({ error: expect.stringContaining("is stopping") });
    expect(replies).not.toContainEqual({ down: true });
  });

  it("add hosts, save them for the next start, and do not start them twice", async () => {
    additions.set("a", { hosts: ["x1", "x2"], setting: { configFiles: [], options: ["a=b"] } });
    expect(await ask("add", "a")).toMatchObject({ result: ["x1", "x2"] });
    expect(savedSettings.get("x2")).toEqual({ configFiles: [], options: ["a=b"], added: true });
    expect(await ask("add", "a")).toMatchObject({ result: ["x1", "x2"] });
    expect(added.map(({ name }) => name)).toEqual(["x1", "x2"]);
  });

  it("reject the addition of a host with other settings, with the name of a process, or without a written request", async () => {
    additions.set("other", { hosts: ["h1"], setting: { configFiles: ["/other.conf"] } });
    additions.set("pool", { hosts: ["pool-1"], setting: PLAIN });
    expect(await ask("add", "other")).toMatchObject({ error: expect.stringContaining("h1 exists already") });
    expect(await ask("add", "pool")).toMatchObject({
      error: expect.stringContaining("pool-1 is the name of a process"),
    });
    expect(await ask("add", "none")).toMatchObject({ error: "there is no such addition" });
    expect(added).toEqual([]);
  });

  it("remove a host, also from the next start", async () => {
    expect(await ask("forget", "h2")).toMatchObject({ result: null });
    expect([running.has("h2"), savedSettings.has("h2")]).toEqual([false, false]);
  });

  it("do not reply to other messages", async () => {
    await hosts.take({ type: "component", state: "ready" });
    await hosts.take(null);
    expect(replies).toEqual([]);
  });
});
