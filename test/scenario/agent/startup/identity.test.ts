import { expect } from "vitest";
import { uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const ID = uuidOf(40);
const FILE = "/state/devstack1/compute_id";

scenario("2.3 a new host gets a version 4 uuid, written to state_path once", async (lab) => {
  await lab.stop(await lab.start("devstack1"));
  const first = await lab.read(FILE);
  expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\n$/);
  await lab.start("devstack1");
  expect(await lab.read(FILE)).toBe(first);
});

scenario("2.3 a file beside a configuration file is found before one in state_path", async (lab) => {
  await lab.write("/etc/nova/compute_id", `  ${ID.toUpperCase()}  \nrest of the file`);
  await lab.start("devstack1", { configFiles: ["/etc/nova/nova.conf", "/etc/nova/nova-cpu.conf"] });
  expect(lab.store.computeNodes.byHost("devstack1")).toMatchObject([{ uuid: ID }]);
  expect(await lab.read(FILE)).toBeUndefined();
});

scenario("2.3 two files that agree are one identity", async (lab) => {
  await lab.write("/etc/nova/compute_id", ID);
  await lab.write(FILE, ID);
  await lab.start("devstack1", { configFiles: ["/etc/nova/nova.conf"] });
  expect(lab.store.computeNodes.byHost("devstack1")).toMatchObject([{ uuid: ID }]);
});

scenario("2.3 two files that differ are refused", async (lab) => {
  await lab.write("/etc/nova/compute_id", ID);
  await lab.write(FILE, uuidOf(41));
  const refusal = await lab.refusal("devstack1", { configFiles: ["/etc/nova/nova.conf"] });
  expect(refusal).toMatchObject({ code: "identity-ambiguous", error: "InvalidNodeConfiguration" });
  expect(refusal.records).toEqual({ "/etc/nova/compute_id": ID, [FILE]: uuidOf(41) });
});

for (const text of ["", "not a uuid", ID.slice(0, 35), `${"x".repeat(40)}${ID}`]) {
  scenario(`2.3 a file that says ${JSON.stringify(text.slice(0, 12))}… is refused`, async (lab) => {
    await lab.write(FILE, text);
    const refusal = await lab.refusal("devstack1");
    expect(refusal).toMatchObject({ code: "identity-unparseable", error: "InvalidNodeConfiguration" });
    expect(refusal.message).toContain(FILE);
  });
}

scenario("2.3 a state_path that cannot be written is refused", async (lab) => {
  await lab.write("/state/devstack1", "a file where the folder should be");
  const refusal = await lab.refusal("devstack1");
  expect(refusal.error).toBe("InvalidNodeConfiguration");
  expect(lab.store.services.getByHost("devstack1", "nova-compute")).toBeNull();
});

scenario(
  "2.3 row 1 a driver whose nodes have identities of their own needs no file, whatever its name",
  async (lab) => {
    lab.addService("devstack1", 73);
    lab.hypervisor("devstack1").capabilities = { hasNodeIdentities: true };
    const run = await lab.start("devstack1");
    expect(run.agent.state).toBe("serving");
  },
);

scenario("2.3 row 1 a driver is not exempt for its name", async (lab) => {
  lab.addService("devstack1", 73);
  expect((await lab.refusal("devstack1", { driverName: "not-ironic" })).code).toBe("identity-lost");
});

scenario("2.3 row 2 version 65 or later without a file is refused", async (lab) => {
  lab.addService("devstack1", 73);
  expect((await lab.refusal("devstack1")).code).toBe("identity-lost");
});

scenario("2.3 row 3 version 65 or later with a file starts", async (lab) => {
  lab.addService("devstack1", 73);
  await lab.write(FILE, ID);
  expect((await lab.start("devstack1")).agent.state).toBe("serving");
});

const FFU = { config: { sections: { workarounds: { disable_compute_service_check_for_ffu: true } } } };

scenario("2.3 row 4 an older version with a file starts, and is upgraded", async (lab) => {
  lab.addService("devstack1", 60);
  await lab.write(FILE, ID);
  await lab.start("devstack1", FFU);
  expect(lab.store.services.getByHost("devstack1", "nova-compute")?.version).toBe(74);
});

scenario("2.3 row 5 an older version without a file takes the uuid of its only node", async (lab) => {
  lab.addNode(lab.addService("devstack1", 60), ID, "devstack1");
  await lab.start("devstack1", FFU);
  expect(await lab.read(FILE)).toBe(`${ID}\n`);
});

scenario("2.3 row 6 an older version without file and node is refused", async (lab) => {
  lab.addService("devstack1", 60);
  expect((await lab.refusal("devstack1", FFU)).code).toBe("identity-no-node");
});

scenario("2.3 row 7 an older version without a file and with two nodes is refused", async (lab) => {
  const service = lab.addService("devstack1", 60);
  lab.addNode(service, ID, "devstack1");
  lab.addNode(service, uuidOf(41), "devstack1b");
  const refusal = await lab.refusal("devstack1", FFU);
  expect(refusal.code).toBe("identity-many-nodes");
  expect(refusal.records).toEqual({ devstack1: ID, devstack1b: uuidOf(41) });
  expect(await lab.read(FILE)).toBeUndefined();
});

scenario("1.2 a deployment with a service that is too old is refused", async (lab) => {
  lab.addService("old", 60);
  const refusal = await lab.refusal("devstack1");
  expect(refusal).toMatchObject({ code: "service-too-old", error: "ServiceTooOld" });
  expect(refusal.mend).toContain("disable_compute_service_check_for_ffu");
});

scenario("2.2 row 1 max_disk_devices_to_attach = 0 is refused before the driver is asked anything", async (lab) => {
  const sections = { compute: { max_disk_devices_to_attach: 0 } };
  const refusal = await lab.refusal("devstack1", { config: { sections } });
  expect(refusal.code).toBe("max-disk-devices-zero");
  expect(lab.hypervisor("devstack1").calls.map(({ method }) => method)).not.toContain("initHost");
});

scenario("2.1 rows 2, 3 an error in init_host leaves no service, node or provider behind", async (lab) => {
  lab.hypervisor("devstack1").failures.set("initHost", () => new Error("no hypervisor"));
  expect((await lab.failure("devstack1")).message).toContain("no hypervisor");
  expect(lab.store.services.list()).toEqual([]);
  expect(await lab.providers()).toEqual([]);
  expect(await lab.read(FILE)).toBeUndefined();
});
