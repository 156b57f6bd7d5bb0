import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { eventually } from "../../process/support/cloud.js";
import { hasPeer } from "./control-plane.js";
import { OC_HOSTS, withOcHosts } from "./oc-hosts.js";
import { KILL_BROKER, RESTART_API, START_BROKER } from "./outage.js";
import type { RealNova } from "./real-nova.js";
import { useRealNova } from "./use-real-nova.js";
import { allocationsOn, idle, onThisMachine, settles } from "./waiting.js";

/** Milliseconds after the end of an outage within which every agent must send a heartbeat. */
const UP_AGAIN = 15_000;
const STOP_CONDUCTOR = "stop nova-conductor";
const START_CONDUCTOR = 'spawn nova-conductor /usr/bin/nova-conductor --config-file "$STATE/etc/nova-conductor.conf"';

describe.skipIf(!hasPeer)("outages", () => {
  const cloud = useRealNova();
  const { agents } = withOcHosts(cloud);

  it("R1: RabbitMQ is killed in the middle of a build", async () => {
    const nova = cloud();
    await nova.setFault("oc1", "driver.spawn=slow:6s:once");
    const id = await nova.operator.boot("cut-build", { host: "oc1" });
    await taskIs(nova, id, "spawning");
    await brokerDies(nova);
    await settles(nova, agents, id);
    await nova.remove(id);
    await expectNothingHeld(nova);
  });

  it("R1: RabbitMQ is killed in the middle of a resize", async () => {
    const nova = cloud();
    const id = await built(nova, "cut-resize");
    await nova.setFault("oc1", "driver.migrateDiskAndPowerOff=slow:6s:once");
    await nova.act(id, { migrate: { host: "oc2" } });
    await taskIs(nova, id, "resize_migrating");
    await brokerDies(nova);
    await settles(nova, agents, id);
    await nova.remove(id);
    await expectNothingHeld(nova);
  });

  it("R1: a late message about a move of a deleted server, whose allocations were claimed since", async () => {
    const nova = cloud();
    const id = await built(nova, "late-move");
    const { uuid: provider } = await nova.operator.provider("oc2");
    const { body: before } = await nova.placement("GET", `/allocations/${id}`);
    const destination = agents.get("oc2")?.pid ?? 0;
    process.kill(destination, "SIGSTOP");
    try {
      await nova.act(id, { migrate: { host: "oc2" } });
      await expect.poll(() => allocationsOn(nova, "oc2"), { timeout: 20_000 }).toHaveProperty(id);
      await nova.remove(id);
      // Allocates like a scheduler that was interrupted during its work.
      const { project_id, user_id } = before;
      const allocations = { [String(provider)]: { resources: { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 } } };
      const claim = { allocations, project_id, user_id, consumer_generation: null, consumer_type: "INSTANCE" };
      expect((await nova.placement("PUT", `/allocations/${id}`, claim)).status).toBe(204);
    } finally {
      process.kill(destination, "SIGCONT");
    }
    await expectNothingHeld(nova);
  });

  it("R1: nova-conductor is restarted", async () => {
    const nova = cloud();
    await nova.plane.shell(STOP_CONDUCTOR);
    const waiting = nova.operator.boot("while-away", { host: "oc1" });
    await nova.plane.shell(START_CONDUCTOR);
    await waitForHeartbeats(nova);
    const id = await waiting;
    await idle(nova, id, "ACTIVE");
    await nova.remove(id);
    await expectNothingHeld(nova);
  });

  it("R1: a host's queue is deleted, and declared again", async () => {
    const nova = cloud();
    const { rc, output } = await nova.plane.shell("rabbitctl delete_queue compute.oc1");
    expect(rc, output).toBe(0);
    await eventually(
      () => nova.plane.shell("rabbitctl list_queues name consumers"),
      (listed) => /^compute\.oc1\s+1$/m.test(listed.output),
    );
    const id = await built(nova, "queue-back");
    await nova.remove(id);
  });

  it("R1: a broker that accepts no messages for a while delays nothing for longer", async () => {
    const nova = cloud();
    const id = await built(nova, "blocked");
    await nova.plane.shell("rabbitctl set_vm_memory_high_watermark 0.00001");
    const stopped = nova.act(id, { "os-stop": null }).catch(() => null);
    await pause(12_000);
    await nova.plane.shell("rabbitctl set_vm_memory_high_watermark 0.4");
    await waitForHeartbeats(nova);
    await stopped;
    const { status } = await settles(nova, agents, id);
    expect(["ACTIVE", "SHUTOFF"]).toContain(String(status));
    await nova.remove(id);
    await expectNothingHeld(nova);
  });
});
async function built(nova: RealNova, name: string): Promise<string> {
  const id = await nova.operator.boot(name, { host: "oc1" });
  await idle(nova, id, "ACTIVE");
  return id;
}

async function taskIs(nova: RealNova, id: string, task: string): Promise<void> {
  await eventually(
    () => nova.operator.server(id),
    (server) => String(server["OS-EXT-STS:task_state"]) === task,
  );
}

/** Kills the broker and starts it again, which loses transient queues and their content. */
async function brokerDies(nova: RealNova): Promise<void> {
  await nova.plane.shell(`${KILL_BROKER}; ${RESTART_API}; ${START_BROKER}`);
  await nova.waitForApi();
  await waitForHeartbeats(nova);
}

/** Waits until each agent has sent a heartbeat after now, and checks the duration. */
async function waitForHeartbeats(nova: RealNova): Promise<void> {
  const since = performance.now();
  // The service's times are whole seconds.
  const from = new Date(Math.ceil(Date.now() / 1_000) * 1_000).toISOString().slice(0, 19);
  await eventually(
    () => Promise.all(OC_HOSTS.map((host) => nova.operator.service(host))),
    // Null if there was no heartbeat yet.
    (services) => services.every(({ updated_at, state }) => (updated_at ?? "") >= from && String(state) === "up"),
  );
  const taken = performance.now() - since;
  expect(taken).toBeLessThan(await onThisMachine(UP_AGAIN));
}

async function expectNothingHeld(nova: RealNova): Promise<void> {
  for (const host of OC_HOSTS) {
    await expect.poll(() => allocationsOn(nova, host), { timeout: 20_000, message: host }).toEqual({});
  }
}
