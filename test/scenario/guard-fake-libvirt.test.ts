import { expect } from "vitest";
import type { Lab } from "../unit/agent/support/harness.js";
import { boot, guestsOf, libvirt, nodeOf } from "../unit/agent/support/libvirt-hosts.js";
import { uuidOf } from "../unit/agent/support/records.js";
import { scenario } from "../unit/agent/support/scenario.js";

const VM = uuidOf(1);

/** devstack1 with a guest, its agent stopped. */
async function inService(lab: Lab): Promise<void> {
  const run = await lab.start("devstack1", libvirt("devstack1"));
  await boot(lab, VM, nodeOf(lab, "devstack1"));
  await lab.stop(run);
}

async function expectUntouched(lab: Lab): Promise<void> {
  expect(await guestsOf(lab, "devstack1")).toEqual([VM]);
  expect(await lab.read(`/hypervisors/devstack1/state/${VM}`)).toContain("running");
  expect(lab.instance(VM)).toMatchObject({ host: "devstack1", vmState: "active", deleted: 0 });
  expect(await lab.providers()).toEqual(["devstack1"]);
}

scenario("2.4 G1 restart: the guest lives on", async (lab) => {
  await inService(lab);
  const run = await lab.start("devstack1", libvirt("devstack1"));
  expect(run.agent.state).toBe("serving");
  await expectUntouched(lab);
});

scenario("2.4 G2 another --host with the same state and connection", async (lab) => {
  await inService(lab);
  const options = libvirt("devstack2", { on: "devstack1", statePath: "/state/devstack1" });
  expect((await lab.refusal("devstack2", options)).code).toBe("node-of-other-host");
  await expectUntouched(lab);
});

scenario("2.4 G3 the hypervisor was renamed", async (lab) => {
  await inService(lab);
  const identity = JSON.parse((await lab.read("/hypervisors/devstack1/hypervisor.json")) ?? "{}");
  await lab.write("/hypervisors/devstack1/hypervisor.json", JSON.stringify({ ...identity, hostname: "renamed" }));
  expect((await lab.refusal("devstack1", libvirt("devstack1"))).code).toBe("hypervisor-renamed");
  await expectUntouched(lab);
});

scenario("2.4 G4: a passive agent with its own state is pointed at the hypervisor", async (lab) => {
  await inService(lab);
  const refusal = await lab.refusal("standby", libvirt("standby", { on: "devstack1" }));
  expect(refusal.code).toBe("hypervisor-of-other-host");
  expect(refusal.message).toMatch(/recorded for host devstack1, this agent is standby/);
  await expectUntouched(lab);
});

scenario("2.4 G5 the same while the hypervisor is empty", async (lab) => {
  await lab.stop(await lab.start("devstack1", libvirt("devstack1")));
  const refusal = await lab.refusal("standby", libvirt("standby", { on: "devstack1" }));
  expect(refusal.code).toBe("hypervisor-of-other-host");
  expect(lab.store.computeNodes.list()).toHaveLength(1);
});

scenario("2.4 G6 a second agent while the first lives", async (lab) => {
  const first = await lab.start("devstack1", libvirt("devstack1"));
  await boot(lab, VM, nodeOf(lab, "devstack1"));
  const refusal = await lab.refusal("devstack1", libvirt("devstack1", { process: "second" }));
  expect(refusal.code).toBe("host-lease-held");
  expect(first.agent.state).toBe("serving");
  await expectUntouched(lab);
});

scenario("2.4 G7 compute_id was deleted", async (lab) => {
  await inService(lab);
  await lab.remove("/state/devstack1/compute_id");
  expect((await lab.refusal("devstack1", libvirt("devstack1"))).code).toBe("identity-lost");
  await expectUntouched(lab);
});

scenario("2.4 G8 compute_id is a copy of another host's", async (lab) => {
  await inService(lab);
  await lab.write("/state/devstack2/compute_id", nodeOf(lab, "devstack1").uuid);
  expect((await lab.refusal("devstack2", libvirt("devstack2"))).code).toBe("hypervisor-renamed");
  await expectUntouched(lab);
});

scenario("2.4 G9 guests, and a control plane that knows nothing", async (lab) => {
  await lab.write(`/hypervisors/devstack1/domains/${VM}.xml`, "<domain/>");
  expect((await lab.refusal("devstack1", libvirt("devstack1"))).code).toBe("guests-on-new-host");
  expect(await guestsOf(lab, "devstack1")).toEqual([VM]);
});

scenario("2.4 G10 the service was deleted under a guest", async (lab) => {
  await inService(lab);
  lab.store.services.destroy(lab.store.services.getByHost("devstack1", "nova-compute")?.id ?? 0);
  expect((await lab.refusal("devstack1", libvirt("devstack1"))).code).toBe("guests-on-new-host");
  expect(lab.store.services.list()).toEqual([]);
  await expectUntouched(lab);
});

scenario("2.4 G12 another compute_id for the same host and hypervisor", async (lab) => {
  await inService(lab);
  await lab.write("/state/devstack1/compute_id", uuidOf(77));
  expect((await lab.refusal("devstack1", libvirt("devstack1"))).code).toBe("node-recorded-twice");
  await expectUntouched(lab);
});
