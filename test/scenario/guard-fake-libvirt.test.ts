import { expect } from "vitest";
import type { Harness } from "../unit/agent/support/harness.js";
import { boot, guestsOf, libvirt, nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { uuidOf } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

const VM = uuidOf(1);

/** Creates devstack1 with a guest, and stops its agent. */
async function inService(harness: Harness): Promise<void> {
  const run = await harness.start("devstack1", libvirt("devstack1"));
  await boot(harness, VM, nodeOf(harness, "devstack1"));
  await harness.stop(run);
}

async function expectUntouched(harness: Harness): Promise<void> {
  expect(await guestsOf(harness, "devstack1")).toEqual([VM]);
  expect(await harness.read(`/hypervisors/devstack1/state/${VM}`)).toContain("running");
  expect(harness.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", deleted: 0 });
  expect(await harness.providers()).toEqual(["devstack1"]);
}

scenario("2.4 G1 restart: the guest lives on", async (harness) => {
  await inService(harness);
  const run = await harness.start("devstack1", libvirt("devstack1"));
  expect(run.agent.state).toBe("serving");
  await expectUntouched(harness);
});

scenario("2.4 G2 another --host with the same state and connection", async (harness) => {
  await inService(harness);
  const options = libvirt("devstack2", { on: "devstack1", statePath: "/state/devstack1" });
  expect((await harness.expectRejection("devstack2", options)).code).toBe("node-of-other-host");
  await expectUntouched(harness);
});

scenario("2.4 G3 the hypervisor was renamed", async (harness) => {
  await inService(harness);
  const identity = JSON.parse((await harness.read("/hypervisors/devstack1/hypervisor.json")) ?? "{}");
  await harness.write("/hypervisors/devstack1/hypervisor.json", JSON.stringify({ ...identity, hostname: "renamed" }));
  expect((await harness.expectRejection("devstack1", libvirt("devstack1"))).code).toBe("hypervisor-renamed");
  await expectUntouched(harness);
});

scenario("2.4 G4: a passive agent with its own state is pointed at the hypervisor", async (harness) => {
  await inService(harness);
  const rejection = await harness.expectRejection("standby", libvirt("standby", { on: "devstack1" }));
  expect(rejection.code).toBe("hypervisor-of-other-host");
  expect(rejection.message).toMatch(/recorded for host devstack1, this agent is standby/);
  await expectUntouched(harness);
});

scenario("2.4 G5 the same while the hypervisor is empty", async (harness) => {
  await harness.stop(await harness.start("devstack1", libvirt("devstack1")));
  const rejection = await harness.expectRejection("standby", libvirt("standby", { on: "devstack1" }));
  expect(rejection.code).toBe("hypervisor-of-other-host");
  expect(harness.store.computeNodes.list()).toHaveLength(1);
});

scenario("2.4 G6 a second agent while the first lives", async (harness) => {
  const first = await harness.start("devstack1", libvirt("devstack1"));
  await boot(harness, VM, nodeOf(harness, "devstack1"));
  const rejection = await harness.expectRejection("devstack1", libvirt("devstack1", { process: "second" }));
  expect(rejection.code).toBe("host-lease-held");
  expect(first.agent.state).toBe("serving");
  await expectUntouched(harness);
});

scenario("2.4 G7 compute_id was deleted", async (harness) => {
  await inService(harness);
  await harness.remove("/state/devstack1/compute_id");
  expect((await harness.expectRejection("devstack1", libvirt("devstack1"))).code).toBe("identity-lost");
  await expectUntouched(harness);
});

scenario("2.4 G8 compute_id is a copy of another host's", async (harness) => {
  await inService(harness);
  await harness.write("/state/devstack2/compute_id", nodeOf(harness, "devstack1").uuid);
  expect((await harness.expectRejection("devstack2", libvirt("devstack2"))).code).toBe("hypervisor-renamed");
  await expectUntouched(harness);
});

scenario("2.4 G9 guests, and a control plane that knows nothing", async (harness) => {
  await harness.write(`/hypervisors/devstack1/domains/${VM}.xml`, "<domain/>");
  expect((await harness.expectRejection("devstack1", libvirt("devstack1"))).code).toBe("guests-on-new-host");
  expect(await guestsOf(harness, "devstack1")).toEqual([VM]);
});

scenario("2.4 G10 the service was deleted under a guest", async (harness) => {
  await inService(harness);
  harness.store.services.destroy(harness.store.services.getByHost("devstack1", "nova-compute")?.id ?? 0);
  expect((await harness.expectRejection("devstack1", libvirt("devstack1"))).code).toBe("guests-on-new-host");
  expect(harness.store.services.list()).toEqual([]);
  await expectUntouched(harness);
});

scenario("2.4 G12 another compute_id for the same host and hypervisor", async (harness) => {
  await inService(harness);
  await harness.write("/state/devstack1/compute_id", uuidOf(77));
  expect((await harness.expectRejection("devstack1", libvirt("devstack1"))).code).toBe("node-recorded-twice");
  await expectUntouched(harness);
});
