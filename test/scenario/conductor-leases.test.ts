import { describe, expect, test } from "vitest";
import { type ConductorError, isConductorError } from "../../src/conductor-client/errors.js";
import { VirtualMachine } from "../../src/simulation/virtual-machine.js";
import { VirtualWorld } from "../../src/simulation/virtual-world.js";
import { startInProcessConductor } from "../fixtures/in-process-conductor.js";

const HOST = "devstack1";

async function start() {
  const world = new VirtualWorld();
  const cluster = await startInProcessConductor(world);
  const join = async (process: string, machine?: VirtualMachine) => {
    const agent = cluster.agent(HOST, { process, ...(machine ? { machine } : {}) });
    await world.runUntil(agent.connection.connected());
    return agent;
  };
  return { world, cluster, join };
}

const other = () => new VirtualMachine("another-machine");

/** Returns the lease's outcome or its rejection. */
async function outcomeOf(acquire: Promise<void>): Promise<"taken" | ConductorError> {
  try {
    await acquire;
    return "taken";
  } catch (error) {
    if (isConductorError(error, "HostLeaseHeld")) {
      return error;
    }
    throw error;
  }
}

describe("2.4 G6: two live agents with one host never both act", () => {
  test("2.4 G6 a second agent is refused at once and told who holds the host and how to go on", async () => {
    const { world, join } = await start();
    const first = await join("first");
    const second = await join("second", other());
    await world.runUntil(first.session.acquireLease());
    await world.advance(60_000);
    const before = world.now;
    const rejection = await world.runUntil(outcomeOf(second.session.acquireLease()));
    expect(world.now).toBe(before);
    expect(rejection).toMatchObject({ code: "HostLeaseHeld" });
    expect((rejection as ConductorError).message).toMatch(
      new RegExp(
        `host ${HOST} is held by another live agent: pid ${first.runtime.processes.pid} .*boot id [0-9a-f-]{36}, last seen [0-9.]+ s ago\\. Stop that agent, or start this one with another --host`,
      ),
    );
    expect(first.session.leaseHeld).toBe(true);
    expect(second.session.leaseHeld).toBe(false);
  });

  test("2.4 G6 two sessions of one process are as two agents", async () => {
    const { world, join } = await start();
    const { session, connection } = await join("first");
    await world.runUntil(session.acquireLease());
    await expect(connection.host(HOST).acquireLease()).rejects.toThrow(/in this process/);
    await world.runUntil(session.close());
    await world.runUntil(connection.host(HOST).acquireLease());
  });

  test("2.4 G6 an agent that left gives the host free at once", async () => {
    const { world, join } = await start();
    const first = await join("first");
    await world.runUntil(first.session.acquireLease());
    await world.runUntil(first.connection.close());
    const second = await join("second", other());
    const before = world.now;
    await world.runUntil(second.session.acquireLease());
    expect(world.now).toBe(before);
  });

  test("2.4 G6 after kill -9 on the same machine the next agent does not wait", async () => {
    const { world, join } = await start();
    const first = await join("first");
    await world.runUntil(first.session.acquireLease());
    first.runtime.kill();
    const second = await join("first");
    const before = world.now;
    await world.runUntil(second.session.acquireLease());
    expect(world.now).toBe(before);
    expect(second.session.leaseHeld).toBe(true);
  });

  test("2.4 G6 kill -9 on the same machine, its pid taken by another program: the lease must end first", async () => {
    const { world, join } = await start();
    const first = await join("first");
    await world.runUntil(first.session.acquireLease());
    first.runtime.kill();
    world.machine.setLiveness(first.runtime.processes.pid, true);
    const second = await join("second");
    const before = world.now;
    await world.runUntil(second.session.acquireLease());
    expect(world.now - before).toBe(10_000);
  });

  test("2.4 G6 an agent in another PID namespace, where the holder's pid is nobody's, is refused at once", async () => {
    const { world, join } = await start();
    const first = await join("first");
    await world.runUntil(first.session.acquireLease());
    const { hostname, disk } = world.machine;
    const container = new VirtualMachine(hostname, disk, "2");
    const second = await join("second", container);
    container.setLiveness(first.runtime.processes.pid, false);
    const before = world.now;
    expect(await world.runUntil(outcomeOf(second.session.acquireLease()))).toMatchObject({ code: "HostLeaseHeld" });
    expect(world.now).toBe(before);
    expect(first.session.leaseHeld).toBe(true);
  });

  test("2.4 G6 a holder that is connected lives, whatever its pid looks like", async () => {
    const { world, join } = await start();
    const first = await join("first");
    await world.runUntil(first.session.acquireLease());
    world.machine.setLiveness(first.runtime.processes.pid, false);
    const second = await join("second");
    const before = world.now;
    expect(await world.runUntil(outcomeOf(second.session.acquireLease()))).toMatchObject({ code: "HostLeaseHeld" });
    // It may have died this moment: only its next ping proves that it did not.

    expect(world.now - before).toBeLessThanOrEqual(3_000);
    await world.advance(60_000);
    expect(first.session.leaseHeld).toBe(true);
  });

  test("2.4 G6 a connection that outlives its process is waited for, and no longer than its pings are missed", async () => {
    const { world, join } = await start();
    const first = await join("first");
    await world.runUntil(first.session.acquireLease());
    world.network.partition("first", "control-plane");
    first.runtime.kill();
    const second = await join("second");
    const before = world.now;
    await world.runUntil(second.session.acquireLease());
    expect(world.now - before).toBeLessThanOrEqual(11_000);
  });

  test("2.4 G6 after kill -9 on another machine the next agent waits for the lease to end, and says so", async () => {
    const { world, join } = await start();
    const first = await join("first", other());
    await world.runUntil(first.session.acquireLease());
    first.runtime.kill();
    const second = await join("second");
    const before = world.now;
    await world.runUntil(second.session.acquireLease());
    expect(world.now - before).toBe(10_000);
    expect(second.runtime.logs[0]?.message).toMatch(/waiting for the lease of host devstack1: .*free in 10\.0 s/);
  });

  test("2.4 G6 the holder that comes back in time keeps the host; who waited is refused", async () => {
    const { world, cluster, join } = await start();
    const first = await join("first", other());
    await world.runUntil(first.session.acquireLease());
    cluster.kill();
    await world.advance(100);
    await cluster.restart();
    world.network.partition("first", "control-plane");
    const second = await join("second");
    const outcome = outcomeOf(second.session.acquireLease());
    await world.advance(3_000);
    world.network.heal("first", "control-plane");
    expect(await world.runUntil(outcome)).toMatchObject({ code: "HostLeaseHeld" });
    expect(first.session.leaseHeld).toBe(true);
  });

  test("2.4 G6 a partitioned holder stops to act before another agent can take the host, and learns of it", async () => {
    const { world, join } = await start();
    const first = await join("first", other());
    await world.runUntil(first.session.acquireLease());
    const second = await join("second");
    world.network.partition("first", "control-plane");
    const cut = world.now;
    let fencedAt = 0;
    let taken = false;
    while (!taken) {
      await world.advance(100);
      expect(first.session.leaseHeld && second.session.leaseHeld).toBe(false);
      if (!first.session.leaseHeld && fencedAt === 0) {
        fencedAt = world.now;
      }
      second.session.acquireLease().then(
        () => {
          taken = true;
        },
        () => {},
      );
    }
    expect(fencedAt - cut).toBeLessThanOrEqual(8_000);
    expect(world.now - cut).toBeGreaterThan(fencedAt - cut);
    expect(world.now - cut).toBeLessThanOrEqual(13_000);
    world.network.heal("first", "control-plane");
    expect(await world.runUntil(first.session.leaseLost)).toMatch(/held by another live agent: pid \d+/);
    expect(first.session.leaseHeld).toBe(false);
  });

  test("2.4 G6 a partition that heals before the lease ends costs nothing", async () => {
    const { world, join } = await start();
    const first = await join("first");
    await world.runUntil(first.session.acquireLease());
    world.network.partition("first", "control-plane");
    await world.advance(5_000);
    world.network.heal("first", "control-plane");
    await world.advance(5_000);
    expect(first.session.leaseHeld).toBe(true);
  });

  test("2.4 G6 a long partition without a rival: the holder does not act meanwhile, and has the host again after it", async () => {
    const { world, join } = await start();
    const first = await join("first");
    await world.runUntil(first.session.acquireLease());
    world.network.partition("first", "control-plane");
    await world.advance(600_000);
    expect(first.session.leaseHeld).toBe(false);
    world.network.heal("first", "control-plane");
    await world.advance(30_000);
    expect(first.session.leaseHeld).toBe(true);
  });

  test("2.4 G6 a holder that was frozen finds its lease gone when it thaws, and what it had under way is refused", async () => {
    const { world, cluster, join } = await start();
    const first = await join("first", other());
    await world.runUntil(first.session.acquireLease());
    const { store } = cluster;
    const service = store.services.create({ host: HOST, binary: "nova-compute", topic: "compute", version: 73 });
    // No message of the frozen process arrives, as if it sent none.
    world.network.partition("first", "control-plane");
    const late = first.session.call("service_report_state", { id: service.id }, { timeout: 600_000 });
    late.catch(() => {});
    await world.advance(15_000);
    const second = await join("second");
    await world.runUntil(second.session.acquireLease());
    world.network.heal("first", "control-plane");
    await expect(world.runUntil(late)).rejects.toMatchObject({ code: "HostLeaseHeld" });
    expect(store.services.get(service.id)?.reportCount).toBe(0);
    expect(first.session.leaseHeld).toBe(false);
    expect(second.session.leaseHeld).toBe(true);
  });

  test("2.4 G6 a restart of the control plane gives no host away early, and costs the holder nothing", async () => {
    const { world, cluster, join } = await start();
    const first = await join("first", other());
    await world.runUntil(first.session.acquireLease());
    cluster.kill();
    await world.advance(2_000);
    await cluster.restart();
    const second = await join("second");
    expect(await world.runUntil(outcomeOf(second.session.acquireLease()))).toMatchObject({ code: "HostLeaseHeld" });
    await world.advance(10_000);
    expect(first.session.leaseHeld).toBe(true);
  });

  test("2.4 G6 a control plane that was down for long still waits for the holder to come back", async () => {
    const { world, cluster, join } = await start();
    const first = await join("first", other());
    await world.runUntil(first.session.acquireLease());
    cluster.kill();
    first.runtime.kill();
    await world.advance(3_600_000);
    await cluster.restart();
    const restarted = world.now;
    const second = await join("second");
    await world.runUntil(second.session.acquireLease());
    expect(world.now - restarted).toBe(10_000);
  });

  test("2.4 G6 a lease that was asked for long before the control plane came counts from when it was sent", async () => {
    const { world, cluster } = await start();
    cluster.kill();
    const { session } = cluster.agent(HOST);
    const acquired = session.acquireLease();
    await world.advance(60_000);
    await cluster.restart();
    await world.runUntil(acquired);
    expect(session.leaseHeld).toBe(true);
  });

  test("2.4 G6 no-host-lease: both serve, nothing is asked for or refused", async () => {
    const { world, cluster, join } = await start();
    const first = await join("first");
    await world.runUntil(first.session.acquireLease());
    const free = cluster.agent(HOST, { process: "second", lease: false });
    await world.runUntil(free.session.acquireLease());
    expect(free.session.leaseHeld).toBe(true);
    const service = cluster.store.services.create({ host: HOST, binary: "b", topic: "t", version: 1 });
    await world.runUntil(free.session.call("service_report_state", { id: service.id }));
    expect(cluster.store.services.get(service.id)?.reportCount).toBe(1);
  });

  test("2.4 G6 a host is not served without its lease", async () => {
    const { world, join } = await start();
    const first = await join("first");
    const handlers = {} as Parameters<typeof first.session.serve>[0];
    await expect(world.runUntil(first.session.serve(handlers))).rejects.toThrow(/does not hold its lease/);
  });
});
