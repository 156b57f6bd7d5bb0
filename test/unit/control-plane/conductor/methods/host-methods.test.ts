import { beforeEach, describe, expect, it } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import type { HostProcess, HostState } from "../../../../../src/conductor-client/methods/session.js";
import type { Caller } from "../../../../../src/control-plane/conductor/dispatcher.js";
import type { HostSupervisor } from "../../../../../src/control-plane/conductor/host-controls.js";
import { HostLeases } from "../../../../../src/control-plane/conductor/host-leases.js";
import {
  hostMethods,
  hostsToReport,
  listAgents,
} from "../../../../../src/control-plane/conductor/methods/host-methods.js";
import type { Session } from "../../../../../src/control-plane/conductor/session.js";
import type { Store } from "../../../../../src/control-plane/store/store.js";
import { createVirtualRuntime, type VirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../../fixtures/empty-store.js";
import { anInstance, nodeResources } from "../../../../fixtures/records.js";

const caller = { requestId: "req-1" } as Caller;

function aProcess(host: string, more: Partial<HostProcess> = {}): HostProcess {
  const nothing = { driver: null, since: 0, reason: "", exitCode: null, log: null };
  return { host, state: "serving", pid: 7, process: "pool-1", ...nothing, ...more };
}

let store: Store;
let leases: HostLeases;
let known: { host: string; pid: number; machine: string; state: HostState; detail: string }[];
let supervisor: HostSupervisor | undefined;
let processes: HostProcess[];
let calls: string[];
let controlResult: HostProcess | "over-the-link" | null;
let runtime: VirtualRuntime;
let serving: Set<string>;

beforeEach(() => {
  runtime = createVirtualRuntime();
  serving = new Set();
  store = emptyStore({ runtime });
  leases = new HostLeases(store, runtime.clock, 10_000);
  [known, processes, calls, controlResult] = [[], [], [], null];
  supervisor = {
    list: async () => {
      calls.push("list");
      return processes;
    },
    find: async (host) => processes.find((process) => process.host === host) ?? null,
    control: async (host, action) => {
      calls.push(`${action} ${host}`);
      return controlResult;
    },
    add: async () => {
      throw new Error("it is there already");
    },
    forget: async (host) => void calls.push(`forget ${host}`),
    stop: async () => 4711,
    restore: async () => 4711,
  };
});

const agents = () => listAgents({ store, supervisor, controls: controls() });

/** Calls hostsToReport with the hosts of `serving` connected and no known start times. */
function toReport(): string[] {
  const outbox = { server: (host: string) => (serving.has(host) ? ({} as Session) : undefined) };
  return hostsToReport({ store, leases, outbox, clock: runtime.clock, serviceDownTime: 60_000 });
}

function methods() {
  return hostMethods({ store, leases, supervisor, controls: controls(), recorder: undefined, toReport });
}

function controls() {
  return {
    known: () => known,
    find: (host: string) => known.find((one) => one.host === host),
    control: async (host: string, action: string) => {
      calls.push(`${action} ${host} over the link`);
      return { host, state: "killed" as const, detail: "by hand" };
    },
  };
}

function service(host: string, more: object = {}) {
  store.services.create({
    host,
    binary: "nova-compute",
    topic: "compute",
    version: 73,
    ...more,
  });
}

describe("the list of hosts", () => {
  it("joins processes, agents started elsewhere, and services without an agent", async () => {
    processes = [aProcess("a")];
    known = [{ host: "b", pid: 8, machine: "m", state: "serving", detail: "" }];
    service("a", { disabled: true, disabledReason: "a bad fan" });
    service("c");
    const { id: _id, ...columns } = anInstance({ uuid: "cccccccc-0000-4000-8000-000000000001" });
    const { id: computeId } = store.computeNodes.create({
      uuid: "00000000-0000-4000-8000-000000000001",
      serviceId: store.services.getByHost("a", "nova-compute")?.id ?? 0,
      host: "a",
      hypervisorHostname: "a",
      resources: nodeResources(),
    });
    store.instances.create({ ...columns, host: "a", node: "a", computeId });
    expect(await methods().list_hosts({ host: null }, caller)).toMatchObject([
      { host: "a", process: "pool-1", servers: 1, service: { enabled: false, disabledReason: "a bad fan" } },
      { host: "c", state: "stopped", process: null, service: { enabled: true } },
      { host: "b", state: "serving", pid: 8, process: "elsewhere", service: null },
    ]);
    expect((await methods().list_hosts({ host: "b" }, caller)).map(({ host }) => host)).toEqual(["b"]);
    calls.length = 0;
    expect(await methods().list_hosts({ host: "a" }, caller)).toMatchObject([{ host: "a", servers: 1 }]);
    expect(calls, "nothing about others").toEqual([]);
  });

  it("omits a removed host that its pool still reports", async () => {
    processes = [aProcess("a")];
    known = [{ host: "gone", pid: 7, machine: "m", state: "stopped", detail: "" }];
    expect((await methods().list_hosts({ host: null }, caller)).map(({ host }) => host)).toEqual(["a"]);
    expect((await agents()).map(({ host }) => host)).toEqual(["a"]);
  });
});

it("the hosts to report serve, can get servers, and lack a recent heartbeat", async () => {
  for (const host of ["old", "dead", "new"]) {
    service(host);
  }
  service("disabled", { disabled: true });
  service("fenced");
  const idOf = (host: string) => store.services.getByHost(host, "nova-compute")?.id ?? 0;
  store.services.update(idOf("fenced"), { forcedDown: true });
  await runtime.advance(61_000);
  store.services.reportState(idOf("new"));
  serving = new Set(["old", "new", "disabled", "fenced"]);
  expect(methods().hosts_to_report({}, caller)).toEqual(["old"]);
  store.services.reportState(idOf("old"));
  expect(methods().hosts_to_report({}, caller)).toEqual([]);
});

it("the list of agents has reachable agents only, and no service without an agent", async () => {
  processes = [aProcess("a", { state: "failed", exitCode: 3, reason: "refused" })];
  known = [
    { host: "a", pid: 7, machine: "m", state: "serving", detail: "" },
    { host: "b", pid: 8, machine: "m", state: "killed", detail: "by hand" },
  ];
  service("c");
  expect(await agents()).toMatchObject([
    { host: "a", state: "failed", exitCode: 3, reason: "refused" },
    { host: "b", state: "killed", exitCode: null, reason: "by hand" },
  ]);
});

describe("an operator's command for a host", () => {
  it("is executed by the parent process if it can", async () => {
    controlResult = aProcess("a", { state: "killed" });
    expect(await methods().control_host({ host: "a", action: "kill" }, caller)).toMatchObject({ state: "killed" });
    expect(calls).toEqual(["kill a"]);
  });

  it.each([["over-the-link" as const], [null]])(
    "goes over the agent's connection if the parent returns %s",
    async (result) => {
      controlResult = result;
      known = [{ host: "a", pid: 7, machine: "m", state: "serving", detail: "" }];
      expect(await methods().control_host({ host: "a", action: "kill" }, caller)).toMatchObject({
        host: "a",
        state: "killed",
        reason: "by hand",
      });
      expect(calls).toEqual(["kill a", "kill a over the link"]);
    },
  );

  it("reads no other hosts, and retains what is known of this one", async () => {
    controlResult = "over-the-link";
    processes = [aProcess("a", { driver: "mine", log: "pool-1.log" }), aProcess("b")];
    known = [{ host: "a", pid: 7, machine: "m", state: "serving", detail: "" }];
    expect(await methods().control_host({ host: "a", action: "kill" }, caller)).toEqual(
      aProcess("a", { driver: "mine", log: "pool-1.log", state: "killed", reason: "by hand" }),
    );
    expect(calls).toEqual(["kill a", "kill a over the link"]);
  });

  it("is rejected for an unknown host, also without a parent", async () => {
    await expect(methods().control_host({ host: "x", action: "start" }, caller)).rejects.toMatchObject({
      code: "ComputeHostNotFound",
    });
    supervisor = undefined;
    await expect(methods().control_host({ host: "x", action: "start" }, caller)).rejects.toThrow(
      "no process of this cluster has host x; start one with compute-agent --host x",
    );
    await expect(methods().add_hosts({ addition: "a" }, caller)).rejects.toThrow("no 'compute-agent up' is running");
    expect(await methods().forget_host({ host: "x" }, caller)).toBe(false);
  });

  it("fails with the parent's message", async () => {
    const failure = methods().add_hosts({ addition: "a" }, caller);
    await expect(failure).rejects.toThrow(ConductorError);
    await expect(failure).rejects.toThrow("it is there already");
  });
});
