import { describe, expect, it } from "vitest";
import { LastingChildren } from "../../../../src/control-plane/local/lasting-children.js";
import { stateDir } from "../../../../src/control-plane/local/state-dir.js";
import { Supervisor } from "../../../../src/control-plane/local/supervisor.js";
import type { DownHosts } from "../../../../src/control-plane/snapshot/saved-state.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import { FakeChild } from "./support/fake-child.js";

const DOWN: DownHosts = new Map([
  ["h1", "killed"],
  ["p1", "stopped"],
  ["p3", "killed"],
  ["p4", "killed"],
]);

/** Starts a supervisor of one host and two pools, with a ready control plane. */
async function start() {
  const runtime = createVirtualRuntime();
  const agents: FakeChild[] = [];
  const { timers, clock } = runtime;
  const spawn = (options: ConstructorParameters<typeof FakeChild>[1]): FakeChild => {
    const child = new FakeChild(100 + agents.length, options);
    if (options.module === "/cluster.js") {
      queueMicrotask(() => child.report("ready", "http://127.0.0.1:1", { url: "http://127.0.0.1:1" }));
    } else {
      agents.push(child);
    }
    return child;
  };
  const plans = [
    { name: "h1", hosts: ["h1"] },
    { name: "pool-1", hosts: ["p1", "p2"] },
    { name: "pool-2", hosts: ["p3", "p4"] },
  ];
  const supervisor = new Supervisor({
    directory: stateDir("/cluster", "/"),
    agents: plans.map((plan) => ({ ...plan, args: [], driver: null })),
    down: DOWN,
    programs: { cluster: "/cluster.js", agent: "/agent.js" },
    controlPlaneArgs: [],
    onStatus: () => undefined,
    children: new LastingChildren({ spawn }, timers),
    timers,
    clock,
  });
  const started = supervisor.start();
  await runtime.advance(0);
  return { runtime, supervisor, agents, started };
}

const served = (agents: readonly FakeChild[]) => agents.map(({ args }) => args[args.indexOf("--host") + 1]);

describe("hosts that the restored state has down", () => {
  it("are not started with the others of their pool; a pool of only such hosts has no process", async () => {
    const { supervisor, agents, started } = await start();
    expect(served(agents)).toEqual(["p2"]);
    agents[0]?.report("ready");
    agents[0]?.say({ type: "host-states", changes: [{ host: "p2", state: "serving", detail: "", exitCode: null }] });
    await started;
    expect(supervisor.hosts.map(({ host, state, reason }) => `${host} ${state} ${reason}`)).toEqual([
      "h1 killed as in the restored state",
      "p1 stopped as in the restored state",
      "p2 serving ",
      "p3 killed as in the restored state",
      "p4 killed as in the restored state",
    ]);
  });

  it("are started individually on request", async () => {
    const { supervisor, agents, runtime } = await start();
    for (const host of ["h1", "p1", "p4"]) {
      void supervisor.control(host, "start");
    }
    await runtime.advance(0);
    expect(served(agents)).toEqual(["p2", "h1", "p4"]);
    expect(agents[0]?.got).toEqual([{ type: "add-hosts", hosts: ["p1"] }]);
  });
});
