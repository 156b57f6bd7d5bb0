import { expect, test } from "vitest";
import { RefusedConfiguration } from "../../../src/agent/startup/refusals.js";
import { breachedInvariants } from "../../fixtures/invariants.js";
import { evacuated, VM } from "./support/evacuated.js";
import { Lab } from "./support/lab.js";
import { addInstance, placed, uuidOf } from "./support/records.js";

const ids = (lab: Lab): readonly string[] =>
  breachedInvariants(lab.evidence, lab.store).map((breach) => breach.split(" ")[0] ?? "");

const destroy = (lab: Lab, host: string, instance: string, destroyDisks = false): void =>
  lab.evidence.driverCall({ host, method: "destroy", instance, destroyDisks }, lab.hypervisors);

test("V1 a guest destroyed for no reason is noticed", async () => {
  const lab = await Lab.create();
  const { node } = await lab.seed("devstack1");
  addInstance(lab.store, VM, placed(node));
  destroy(lab, "devstack1", VM);
  expect(ids(lab)).toEqual(["V1"]);
  lab.store.instances.save(VM, { taskState: "deleting" });
  lab.evidence.entries.length = 0;
  destroy(lab, "devstack1", VM);
  expect(ids(lab)).toEqual([]);
});

test("V2 a guest that lives nowhere else, destroyed as evacuated, is noticed", async () => {
  const lab = await Lab.create();
  await evacuated(lab, "accepted");
  destroy(lab, "devstack1", VM);
  expect(ids(lab)).toEqual(["V2"]);
  lab.evidence.entries.length = 0;
  lab.hypervisor("devstack2").addGuest(VM);
  destroy(lab, "devstack1", VM);
  expect(ids(lab)).toEqual([]);
});

test("V3 a guest that nobody knows, touched, is noticed", async () => {
  const lab = await Lab.create();
  lab.evidence.driverCall({ host: "devstack1", method: "powerOff", instance: uuidOf(50) }, lab.hypervisors);
  expect(ids(lab)).toEqual(["V3"]);
});

test("V5 shared disks, destroyed, are noticed", async () => {
  const lab = await Lab.create();
  await evacuated(lab, "done", { sharedStorage: true });
  destroy(lab, "devstack1", VM, true);
  expect(ids(lab)).toEqual(["V5"]);
});

test("V6 an agent that writes and is then refused is noticed", async () => {
  const lab = await Lab.create();
  lab.evidence.started("devstack1");
  lab.evidence.state("devstack1", "guarding", null);
  lab.evidence.conductorCall("devstack1", "instance_save", {});
  const refused = new RefusedConfiguration("identity-lost", { found: "nothing", mend: "nothing" });
  lab.evidence.state("devstack1", "failed", refused);
  expect(ids(lab)).toEqual(["V6"]);
});

test("V15 a clean-up that changes the destination's record is noticed", async () => {
  const lab = await Lab.create();
  const { s, d } = await evacuated(lab, "done");
  const before = { [s.uuid]: { VCPU: 1 }, [d.uuid]: { VCPU: 1 } };
  lab.evidence.entries.push({ kind: "consumer-write", host: "devstack1", consumer: VM, before, after: {} });
  expect(ids(lab)).toEqual(["V15"]);
});

test("V29 what comes too early is noticed", async () => {
  const lab = await Lab.create();
  const { node } = await lab.seed("devstack1");
  addInstance(lab.store, VM, { ...placed(node), taskState: "deleting" });
  lab.evidence.entries.length = 0;
  lab.evidence.started("devstack1");
  lab.evidence.state("devstack1", "guarding", null);
  destroy(lab, "devstack1", VM);
  lab.evidence.conductorCall("devstack1", "service_create", {});
  lab.evidence.conductorCall("devstack1", "host_serve", {});
  lab.evidence.state("devstack1", "registering", null);
  lab.evidence.state("devstack1", "cleaning", null);
  expect(ids(lab)).toEqual(["V29", "V29", "V29", "V29"]);
});
