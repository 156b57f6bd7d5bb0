import { expect } from "vitest";
import type { Harness } from "../../unit/agent/support/harness.js";
import { addInstance, placed, uuidOf } from "../../unit/agent/support/records.js";
import { scenario } from "../../unit/agent/support/scenario.js";

const VM = uuidOf(1);
const service = (harness: Harness) => harness.store.services.getByHost("devstack1", "nova-compute");

scenario(
  "2.5 row 1 a heartbeat without a service row is logged; the agent runs on and does not make it again",
  async (harness) => {
    const run = await harness.start("devstack1");
    harness.store.services.destroy(service(harness)?.id ?? 0);
    await harness.world.advance(30_000);
    expect(run.agent.state).toBe("serving");
    expect(service(harness)).toBeNull();
    expect(
      run.runtime.logs.filter(({ message }) => message.includes("the service record of this host is gone")).length,
    ).toBeGreaterThan(1);
  },
);

scenario("2.5 row 1 heartbeats go on after the control plane was away", async (harness) => {
  const run = await harness.start("devstack1");
  await harness.world.advance(6_000);
  harness.controlPlane.kill();
  await harness.world.advance(5_000);
  await harness.controlPlane.restart();
  await harness.world.advance(60_000);
  expect(run.agent.state).toBe("serving");
  const before = service(harness)?.reportCount ?? 0;
  await harness.world.advance(20_000);
  expect(service(harness)?.reportCount).toBe(before + 2);
});

scenario(
  "2.5 row 1 a heartbeat that is not answered within an interval has failed; the next one follows",
  async (harness) => {
    const run = await harness.start("devstack1", { config: { defaults: { report_interval: 2 } } });
    await harness.world.advance(6_000);
    harness.world.network.partition("agent-devstack1", "control-plane");
    await harness.world.advance(3_500);
    const failed = run.runtime.logs.filter(({ message }) => message === "could not report the heartbeat");
    expect(failed).toHaveLength(1);
    harness.world.network.heal("agent-devstack1", "control-plane");
  },
);

scenario("2.5 row 3 a forced-down agent runs on and does not change the fence", async (harness) => {
  await harness.seed("devstack1");
  harness.store.services.update(service(harness)?.id ?? 0, { forcedDown: true });
  const run = await harness.start("devstack1");
  await harness.world.advance(30_000);
  expect(run.agent.state).toBe("serving");
  expect(service(harness)?.forcedDown).toBe(true);
  expect(service(harness)?.reportCount).toBeGreaterThan(0);
});

scenario(
  "2.8 stop: running operations end first, then the agent disconnects and the guests keep running",
  async (harness) => {
    const { node } = await harness.seed("devstack1");
    let finished = false;
    const run = await harness.start("devstack1", {
      operations: {
        stop_instance: async () => {
          await run.runtime.timers.sleep(30_000);
          finished = true;
        },
      },
    });
    addInstance(harness.store, VM, placed(node));
    harness.hypervisor("devstack1").addGuest(VM);
    const request = { instanceUuid: VM, requestId: "req-1" };
    harness.controlPlane.conductor.bus.cast("devstack1", "stop_instance", request, "req-1");
    await harness.world.advance(1_000);
    const stopped = run.agent.stop();
    await harness.world.advance(1_000);
    expect(run.agent.state).toBe("draining");
    expect(harness.controlPlane.conductor.bus.serves("devstack1")).toBe(false);
    await harness.world.runUntil(stopped);
    expect(finished).toBe(true);
    expect(run.agent.state).toBe("stopped");
    expect(harness.hypervisor("devstack1").calls.at(-1)?.method).toBe("cleanupHost");
    expect(harness.hypervisor("devstack1").guests.get(VM)?.power).toBe(1);
  },
);

scenario("2.8 stop: a call of the driver that is made only then is said to be waited for, once", async (harness) => {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, VM, placed(node));
  const hypervisor = harness.hypervisor("devstack1");
  hypervisor.addGuest(VM);
  const run = await harness.start("devstack1", { operations: "real" });
  hypervisor.hang = "destroy";
  harness.beforeCall = async () => {
    await run.runtime.timers.sleep(2_000);
  };
  harness.controlPlane.conductor.bus.cast("devstack1", "terminate_instance", { instanceUuid: VM, requestId: "r" }, "r");
  await harness.world.advance(1_000);
  const stopped = run.agent.stop();
  await harness.world.advance(60_000);
  const waits = run.runtime.logs.filter(({ message }) => message.startsWith("shutdown is waiting for"));
  expect(waits.map(({ message }) => message)).toEqual([
    expect.stringContaining(`destroy of driver fake-memory, for instance ${VM}, on behalf of r`),
  ]);
  await harness.world.runUntil(stopped);
});

scenario("2.8 stop: events of the hypervisor during the disconnection are ignored", async (harness) => {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, VM, placed(node));
  const hypervisor = harness.hypervisor("devstack1");
  hypervisor.addGuest(VM);
  const run = await harness.start("devstack1");
  hypervisor.hang = "cleanupHost";
  const stopped = run.agent.stop();
  await harness.world.advance(1_000);
  expect(hypervisor.calls.at(-1)?.method).toBe("cleanupHost");
  const calls: string[] = [];
  harness.beforeCall = (_host, method) => void calls.push(method);
  hypervisor.emit(VM, "started");
  await harness.world.runUntil(stopped);
  expect(calls).toEqual([]);
  expect(run.operations).toEqual([]);
});

scenario(
  "2.8 stop: a hung operation is waited for no longer than manager_shutdown_timeout less a reserve",
  async (harness) => {
    const { node } = await harness.seed("devstack1");
    const run = await harness.start("devstack1", { operations: { stop_instance: () => new Promise(() => {}) } });
    addInstance(harness.store, VM, placed(node));
    harness.controlPlane.conductor.bus.cast(
      "devstack1",
      "stop_instance",
      { instanceUuid: VM, requestId: "req-1" },
      "req-1",
    );
    await harness.world.advance(1_000);
    const before = harness.world.now;
    await harness.world.runUntil(run.agent.stop());
    expect(run.agent.state).toBe("stopped");
    expect(harness.world.now - before).toBe(140_000);
  },
);

scenario("2.8 a stop during the start ends it at once", async (harness) => {
  const run = await harness.launch("devstack1");
  harness.controlPlane.kill();
  const started = run.agent.start().catch((error: Error) => error.name);
  await harness.world.advance(5_000);
  await harness.world.runUntil(run.agent.stop());
  expect(await started).toBe("AgentStopped");
  expect(run.agent.state).toBe("stopped");
});

scenario("2.8 SIGHUP: the next pass reads everything of Placement again", async (harness) => {
  await harness.seed("devstack1");
  const run = await harness.start("devstack1", {
    config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } },
  });
  const requests: string[] = [];
  harness.world.network.inject({
    match: ({ method, url }) => {
      requests.push(`${method} ${new URL(url).pathname}`);
      return false;
    },
    fault: { kind: "refuse" },
  });
  await harness.world.advance(61_000);
  expect(requests.some((request) => request.endsWith("/inventories"))).toBe(false);
  run.agent.reset();
  await harness.world.advance(60_000);
  expect(requests.some((request) => request.startsWith("GET") && request.endsWith("/inventories"))).toBe(true);
});

scenario(
  "2.4 G6 a lost lease: the agent drains nothing, touches nothing, and says who took the host",
  async (harness) => {
    const { node } = await harness.seed("devstack1");
    addInstance(harness.store, VM, { ...placed(node) });
    harness.hypervisor("devstack1").addGuest(VM);
    const periodic = {
      defaults: { periodic_enable: true, periodic_fuzzy_delay: 0, running_deleted_instance_poll_interval: 60 },
    };
    const run = await harness.start("devstack1", { config: periodic });
    harness.world.network.partition("agent-devstack1", "control-plane");
    await harness.world.advance(60_000);
    const other = await harness.start("devstack1", { process: "another", config: periodic });
    const changes = harness.hypervisor("devstack1").changes.length;
    harness.world.network.heal("agent-devstack1", "control-plane");
    await harness.world.advance(120_000);
    expect(run.agent.state).toBe("failed");
    expect(run.agent.failure?.name).toBe("HostLeaseLost");
    expect(run.agent.failure?.message).toMatch(/pid \d+/);
    expect(other.agent.state).toBe("serving");
    expect(harness.hypervisor("devstack1").changes).toHaveLength(changes);
    expect(harness.hypervisor("devstack1").guests.get(VM)?.power).toBe(1);
  },
);

scenario("V6 without the lease nothing is destroyed, though the record says so", async (harness) => {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, VM, placed(node));
  harness.hypervisor("devstack1").addGuest(VM);
  const config = {
    defaults: { periodic_enable: true, periodic_fuzzy_delay: 0, running_deleted_instance_poll_interval: 5 },
  };
  await harness.start("devstack1", { config });
  await harness.world.advance(1_000);
  harness.store.instances.destroy(VM);
  harness.world.network.partition("agent-devstack1", "control-plane");
  await harness.world.advance(30_000);
  expect(harness.hypervisor("devstack1").guests.has(VM)).toBe(true);
  harness.world.network.heal("agent-devstack1", "control-plane");
});

for (const transition of ["started", "stopped"] as const) {
  scenario(`8.5 ${transition}: synchronised only if the guest still is in that state`, async (harness) => {
    const { node } = await harness.seed("devstack1");
    addInstance(harness.store, VM, placed(node));
    harness.hypervisor("devstack1").addGuest(VM, 1);
    const run = await harness.start("devstack1");
    harness.hypervisor("devstack1").emit(VM, transition);
    harness.hypervisor("devstack1").emit(uuidOf(99), transition);
    await harness.world.advance(1_000);
    expect(run.operations).toEqual(transition === "started" ? [`sync ${VM}`] : []);
  });
}

scenario("8.5 viewers of the guests are notified of each event and of the agent's own actions", async (harness) => {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, VM, { ...placed(node), taskState: null });
  harness.hypervisor("devstack1").addGuest(VM);
  const sections = { workarounds: { handle_virt_lifecycle_events: false } };
  await harness.start("devstack1", { config: { sections }, operations: "real" });
  const { bus, guests } = harness.controlPlane.conductor;
  const reportedHosts: string[] = [];
  guests.begin((host) => reportedHosts.push(host));
  await harness.world.advance(1_000);
  harness.hypervisor("devstack1").emit(VM, "stopped");
  await harness.world.advance(1_000);
  expect(reportedHosts).toEqual(["devstack1"]);
  harness.store.instances.save(VM, { taskState: "powering-off" });
  bus.cast("devstack1", "stop_instance", { instanceUuid: VM, requestId: "req-1" }, "req-1");
  await harness.world.advance(1_000);
  expect(harness.hypervisor("devstack1").guests.get(VM)?.power).toBe(4);
  expect(reportedHosts).toEqual(["devstack1", "devstack1"]);
});

scenario("8.5 handle_virt_lifecycle_events off: events are dropped", async (harness) => {
  const { node } = await harness.seed("devstack1");
  addInstance(harness.store, VM, placed(node));
  harness.hypervisor("devstack1").addGuest(VM);
  const sections = { workarounds: { handle_virt_lifecycle_events: false } };
  const run = await harness.start("devstack1", { config: { sections } });
  harness.hypervisor("devstack1").emit(VM, "started");
  await harness.world.advance(1_000);
  expect(run.operations).toEqual([]);
});

scenario("2.1 many agents live in one world without knowing of each other", async (harness) => {
  const runs = [];
  for (let index = 1; index <= 5; index += 1) {
    runs.push(await harness.start(`host${index}`));
  }
  expect(runs.map(({ agent }) => agent.state)).toEqual(Array(5).fill("serving"));
  expect(await harness.providers()).toHaveLength(5);
});
