import { describe, expect, it } from "vitest";
import type { AgentPlan } from "../../../../src/control-plane/local/agent-process.js";
import type { ComponentStatus } from "../../../../src/control-plane/local/component.js";
import { LastingChildren } from "../../../../src/control-plane/local/lasting-children.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";
import { Supervisor } from "../../../../src/control-plane/local/supervisor.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { FakeChild } from "./support/fake-child.js";

function createHarness(names: readonly string[] = ["h1"], options: { readonly inOrder?: boolean } = {}) {
  return createAgentHarness(
    names.map((name) => ({ name, hosts: [name] })),
    options,
  );
}

function createAgentHarness(
  agents: readonly Pick<AgentPlan, "name" | "hosts">[],
  options: { readonly inOrder?: boolean } = {},
) {
  const runtime = createVirtualRuntime();
  const children: FakeChild[] = [];
  const reportedStatuses: ComponentStatus[] = [];
  const supervisor = new Supervisor({
    ...options,
    directory: stateDir("/cluster", "/"),
    agents: agents.map((plan) => ({ args: [], driver: null, ...plan })),
    programs: { cluster: "/cluster.js", agent: "/agent.js" },
    controlPlaneArgs: [],
    onStatus: (status) => reportedStatuses.push(status),
    children: new LastingChildren(
      {
        spawn: (spawnOptions) => {
          const child = new FakeChild(100 + children.length, spawnOptions);
          children.push(child);
          return child;
        },
      },
      runtime.timers,
    ),
    timers: runtime.timers,
    clock: runtime.clock,
  });
  const of = (name: string) => {
    const found = children.findLast(({ args }) => (name === "control-plane" ? args[0] === name : args[1] === name));
    if (found === undefined) {
      throw new Error(`${name} was not started`);
    }
    return found;
  };
  const status = (name: string) => supervisor.statuses.find((each) => each.name === name);
  /** Makes everything ready. */
  const up = async () => {
    const started = supervisor.start();
    of("control-plane").report("ready", "http://127.0.0.1:1", { url: "http://127.0.0.1:1" });
    await runtime.advance(0);
    for (const { name } of agents) {
      of(name).report("ready", `pid ${of(name).pid}`);
    }
    expect(await started).toBe(true);
  };
  return { runtime, supervisor, children, reportedStatuses: reportedStatuses, of, status, up };
}

describe("a supervisor", () => {
  it("ends the work of agents before that of the control plane, and retains their processes", async () => {
    const { supervisor, children, of, up, runtime, status } = createHarness(["h1", "h2"]);
    await up();
    const rested = supervisor.rest();
    of("h1").say({ type: "resting" });
    await runtime.advance(0);
    expect(of("control-plane").got).toEqual([]);
    of("h2").say({ type: "resting" });
    await runtime.advance(0);
    expect(of("control-plane").got).toEqual([{ type: "rest" }]);
    of("control-plane").say({ type: "resting" });
    await rested;
    expect(children).toHaveLength(3);
    expect(["control-plane", "h1", "h2"].map((name) => status(name)?.state)).toEqual(["stopped", "stopped", "stopped"]);
    await runtime.advance(120_000);
    expect(children).toHaveLength(3);
  });

  it("reports why the control plane rejects its start, with its exit code, and does not retry", async () => {
    const { supervisor, children, of } = createHarness();
    const started = supervisor.start();
    of("control-plane").report("failed", "port 8774 is taken");
    await of("control-plane").ends(2);
    expect(await supervisor.controlPlaneEnded()).toMatchObject({
      state: "failed",
      detail: "port 8774 is taken",
      exitCode: 2,
    });
    expect(await started).toBe(false);
    expect(children).toHaveLength(1);
  });

  it("restarts a control plane that was up after any end, until it ends too often", async () => {
    const { supervisor, children, of, up, runtime } = createHarness([]);
    await up();
    for (let times = 0; times < 5; times += 1) {
      await of("control-plane").ends(null, "SIGKILL");
      await runtime.advance(0);
    }
    expect(children).toHaveLength(6);
    await of("control-plane").ends(1);
    expect((await supervisor.controlPlaneEnded()).exitCode).toBe(1);
  });

  it("restarts an agent that failed unexpectedly, with a growing delay, and reports why and when", async () => {
    const { children, of, status, up, runtime } = createHarness();
    await up();
    of("h1").report("failed", "the driver lost its mind");
    await of("h1").ends(1);
    await runtime.advance(0);
    expect(status("h1")).toMatchObject({
      state: "restarting",
      detail: "restarting in 1 s after its end: the driver lost its mind",
    });
    await runtime.advance(1_000);
    expect(status("h1")).toMatchObject({ state: "starting", detail: `pid ${of("h1").pid}; restarted` });
    await of("h1").ends(null, "SIGSEGV");
    await runtime.advance(0);
    expect(status("h1")?.detail).toBe("restarting in 2 s after its end: SIGSEGV");
    expect(children).toHaveLength(3);
    await runtime.advance(2_000);
    of("h1").report("ready");
    await runtime.advance(60_000);
    await of("h1").ends(1);
    await runtime.advance(0);
    expect(status("h1")?.detail).toMatch(/^restarting in 1 s/);
  });

  it.each([
    ["refuses to start", 3, null, "failed"],
    ["has wrong options", 2, null, "failed"],
    ["lost its host to another", 5, null, "failed"],
    ["is killed by somebody", null, "SIGKILL", "killed"],
    ["is told to stop by somebody", 0, null, "stopped"],
  ] as const)("leaves an agent alone that %s", async (_what, code, signal, state) => {
    const { children, of, status, up, runtime } = createHarness();
    await up();
    await of("h1").ends(code, signal);
    await runtime.advance(600_000);
    expect(status("h1")?.state).toBe(state);
    expect(children).toHaveLength(2);
  });

  it("reports a killed host as serving once another agent has it, and as stopped when that one ends", async () => {
    const { of, status, up, runtime } = createHarness();
    await up();
    const holds = (pid: number | null) => of("control-plane").say({ type: "holders", holders: [{ host: "h1", pid }] });
    holds(of("h1").pid);
    await of("h1").ends(null, "SIGKILL");
    holds(null);
    await runtime.advance(0);
    expect(status("h1")).toMatchObject({ state: "killed", detail: "SIGKILL" });
    holds(4711);
    expect(status("h1")).toMatchObject({ state: "ready", detail: "pid 4711, started elsewhere" });
    holds(null);
    expect(status("h1")).toMatchObject({
      state: "stopped",
      detail: "pid 4711, which was started elsewhere, has ended",
    });
  });

  it("does not restart an agent whose host another one has taken meanwhile", async () => {
    const { children, of, status, up, runtime } = createHarness();
    await up();
    await of("h1").ends(1);
    await runtime.advance(0);
    of("control-plane").say({ type: "holders", holders: [{ host: "h1", pid: 4711 }] });
    await runtime.advance(600_000);
    expect(children).toHaveLength(2);
    expect(status("h1")?.state).toBe("ready");
  });

  it("starts nothing after it was stopped, neither the next agent nor a pending restart", async () => {
    const first = createHarness(["h1", "h2"], { inOrder: true });
    const started = first.supervisor.start();
    first.of("control-plane").report("ready", "", { url: "http://127.0.0.1:1" });
    await first.runtime.advance(0);
    expect(first.children).toHaveLength(2);
    await first.supervisor.stop();
    expect(await started).toBe(false);
    expect(first.children).toHaveLength(2);

    const second = createHarness();
    await second.up();
    await second.of("h1").ends(1);
    await second.runtime.advance(0);
    await second.supervisor.stop();
    await second.runtime.advance(600_000);
    expect(second.children).toHaveLength(2);
    expect(second.status("h1")?.state).toBe("stopped");
  });
});

describe("hosts that an operator starts, stops and kills", () => {
  it("are killed, stay down, and return with their state", async () => {
    const { supervisor, children, of, status, up, runtime } = createHarness(["h1", "h2"]);
    await up();
    const first = of("h1");
    expect(await supervisor.control("h1", "kill")).toMatchObject({ state: "killed", pid: null, reason: "SIGKILL" });
    await runtime.advance(600_000);
    expect(children).toHaveLength(3);
    const started = supervisor.control("h1", "start");
    await runtime.advance(0);
    expect(of("h1").args).toEqual(first.args);
    of("h1").report("ready", `pid ${of("h1").pid}`);
    expect(await started).toMatchObject({ host: "h1", state: "serving", process: "own", pid: of("h1").pid });
    expect(status("h2")?.state).toBe("ready");
  });

  it("are not started twice by concurrent requests, nor while they are stopping", async () => {
    const { supervisor, children, of, up, runtime } = createHarness();
    await up();
    const stopped = supervisor.control("h1", "stop");
    const starts = [supervisor.control("h1", "start"), supervisor.control("h1", "start")];
    expect(await stopped).toMatchObject({ host: "h1", state: "stopped" });
    await runtime.advance(0);
    expect(children).toHaveLength(3);
    of("h1").report("ready");
    expect((await Promise.all(starts)).map((each) => typeof each === "object" && each.state)).toEqual([
      "serving",
      "serving",
    ]);
  });

  it("are not restarted after being killed during the delay", async () => {
    const { supervisor, children, of, up, runtime } = createHarness();
    await up();
    await of("h1").ends(1);
    await runtime.advance(0);
    expect(await supervisor.control("h1", "kill")).toMatchObject({ state: "killed" });
    await runtime.advance(600_000);
    expect(children).toHaveLength(2);
  });

  it("report why a start was rejected", async () => {
    const { supervisor, of, up, runtime } = createHarness();
    await up();
    await supervisor.control("h1", "kill");
    const started = supervisor.control("h1", "start");
    await runtime.advance(0);
    of("h1").report("failed", "records contradict each other");
    await of("h1").ends(3);
    expect(await started).toMatchObject({ state: "failed", exitCode: 3, reason: "records contradict each other" });
  });

  it("are controlled over the agent's connection when another program serves them", async () => {
    const { supervisor, of, up, runtime } = createHarness();
    await up();
    await supervisor.control("h1", "kill");
    of("control-plane").say({ type: "holders", holders: [{ host: "h1", pid: 4711 }] });
    await runtime.advance(0);
    expect(supervisor.host("h1")).toMatchObject({ state: "serving", process: "elsewhere" });
    expect(await supervisor.control("h1", "kill")).toBe("over-the-link");
    expect(await supervisor.control("nowhere", "kill")).toBeUndefined();
  });

  it("can be removed only when they have ended, and can be added again", async () => {
    const { supervisor, of, up, runtime } = createHarness();
    await up();
    expect(() => supervisor.forget("h1")).toThrow("h1 is serving; stop it");
    await supervisor.control("h1", "kill");
    supervisor.forget("h1");
    expect(supervisor.hosts).toEqual([]);
    supervisor.add([{ name: "h1", hosts: ["h1"], args: ["--new"], driver: null }]);
    await runtime.advance(0);
    expect(of("h1").args.at(-1)).toBe("--new");
    await supervisor.stop();
    expect(() => supervisor.add([])).toThrow("stopping");
  });
});

describe("a pool", () => {
  const POOL = [{ name: "pool-1", hosts: ["h1", "h2", "h3"] }];

  /** Creates a harness whose pool process has been started. */
  const createPoolHarness = async () => {
    const made = createAgentHarness(POOL);
    const starting = made.supervisor.start();
    made.of("control-plane").report("ready", "", { url: "http://127.0.0.1:1" });
    await made.runtime.advance(0);
    const pool = () => made.children.at(-1) ?? made.of("control-plane");
    const reportState = (host: string, state: string, more: object = {}) =>
      pool().say({ type: "host-states", changes: [{ host, state, detail: "", exitCode: null, ...more }] });
    const states = () => made.supervisor.hosts.map(({ host, state }) => `${host} ${state}`);
    const allServe = () => ["h1", "h2", "h3"].map((host) => reportState(host, "serving"));
    return { ...made, starting, pool, reportState: reportState, states, allServe };
  };

  it("is up when each of its hosts serves or has failed, and reports the counts", async () => {
    const { pool, reportState, starting, status, supervisor } = await createPoolHarness();
    expect(pool().args.slice(0, 2)).toEqual(["--host", "h[1-3]"]);
    reportState("h1", "serving");
    reportState("h2", "failed", { detail: "refused", exitCode: 3 });
    expect(status("pool-1")).toMatchObject({ state: "starting", detail: "h[1-3]  1 of 3 serve, 1 failed" });
    reportState("h3", "serving");
    expect(await starting).toBe(false);
    expect(supervisor.host("h2")).toMatchObject({ state: "failed", reason: "refused", exitCode: 3, process: "pool-1" });
    expect(status("pool-1")?.state).toBe("ready");
  });

  it("kills a single host over the connection, without ending the process", async () => {
    const { supervisor, reportState, states, allServe, pool } = await createPoolHarness();
    allServe();
    expect(await supervisor.control("h2", "kill")).toBe("over-the-link");
    reportState("h2", "killed");
    expect(states()).toEqual(["h1 serving", "h2 killed", "h3 serving"]);
    const started = supervisor.control("h2", "start");
    expect(pool().got).toEqual([{ type: "add-hosts", hosts: ["h2"] }]);
    reportState("h2", "starting");
    reportState("h2", "serving");
    expect(await started).toMatchObject({ host: "h2", state: "serving" });
  });

  it("restarts after a crash without the hosts that should be down", async () => {
    const { runtime, reportState, states, allServe, pool, supervisor } = await createPoolHarness();
    allServe();
    reportState("h2", "stopped");
    await pool().ends(null, "SIGSEGV");
    await runtime.advance(0);
    expect(states()).toEqual(["h1 restarting", "h2 stopped", "h3 restarting"]);
    await runtime.advance(1_000);
    expect(pool().args.slice(0, 3)).toEqual(["--host", "h[1,3]", "--state-dir"]);
    expect(states()).toEqual(["h1 starting", "h2 stopped", "h3 starting"]);
    const started = supervisor.control("h2", "start");
    await runtime.advance(0);
    expect(pool().got).toEqual([{ type: "add-hosts", hosts: ["h2"] }]);
    reportState("h2", "serving");
    expect(await started).toMatchObject({ host: "h2", state: "serving", process: "pool-1" });
  });

  it("starts again with only the requested host after being killed", async () => {
    const { runtime, reportState, states, allServe, pool, supervisor, children } = await createPoolHarness();
    allServe();
    await pool().ends(null, "SIGKILL");
    await runtime.advance(600_000);
    expect(children).toHaveLength(2);
    expect(states()).toEqual(["h1 killed", "h2 killed", "h3 killed"]);
    const started = supervisor.control("h3", "start");
    await runtime.advance(0);
    expect(pool().args).toEqual(["--host", "h3", "--state-dir", "/cluster", "--pool"]);
    reportState("h3", "serving");
    expect(await started).toMatchObject({ state: "serving" });
    expect(states()).toEqual(["h1 killed", "h2 killed", "h3 serving"]);
  });

  it("restarts a host that failed unexpectedly, with a growing delay, but not one that rejected its start", async () => {
    const { runtime, reportState, allServe, pool, supervisor } = await createPoolHarness();
    allServe();
    reportState("h1", "failed", { detail: "the driver lost its mind", exitCode: 1 });
    reportState("h2", "failed", { detail: "records contradict each other", exitCode: 3 });
    expect(supervisor.host("h1")).toMatchObject({
      state: "restarting",
      reason: "restarting in 1 s after its end: the driver lost its mind",
    });
    await runtime.advance(1_000);
    expect(pool().got).toEqual([{ type: "add-hosts", hosts: ["h1"] }]);
    reportState("h1", "failed", { detail: "the driver lost its mind", exitCode: 1 });
    expect(supervisor.host("h1")?.reason).toMatch(/^restarting in 2 s/);
    expect(supervisor.host("h2")).toMatchObject({ state: "failed", reason: "records contradict each other" });
  });

  it("restarts nothing after a stop", async () => {
    const { runtime, reportState, allServe, supervisor, children } = await createPoolHarness();
    allServe();
    reportState("h1", "failed", { detail: "the driver lost its mind", exitCode: 1 });
    expect(supervisor.host("h1")).toMatchObject({ state: "restarting" });
    await supervisor.stop();
    await runtime.advance(600_000);
    expect(children).toHaveLength(2);
  });
});
