import { expect } from "vitest";
import { uuidOf } from "../../../unit/agent/support/records.js";
import { scenario } from "../../../unit/agent/support/scenario.js";

const ID = uuidOf(40);
const FILE = "/state/devstack1/compute_id";

scenario("2.3 a new host gets a version 4 uuid, written to state_path once", async (harness) => {
  await harness.stop(await harness.start("devstack1"));
  const first = await harness.read(FILE);
  expect(first).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\n$/);
  await harness.start("devstack1");
  expect(await harness.read(FILE)).toBe(first);
});

scenario("2.3 a file beside a configuration file is found before one in state_path", async (harness) => {
  await harness.write("/etc/nova/compute_id", `  ${ID.toUpperCase()}  \nrest of the file`);
  await harness.start("devstack1", { configFiles: ["/etc/nova/nova.conf", "/etc/nova/nova-cpu.conf"] });
  expect(harness.store.computeNodes.byHost("devstack1")).toMatchObject([{ uuid: ID }]);
  expect(await harness.read(FILE)).toBeUndefined();
});

scenario("2.3 two files that agree are one identity", async (harness) => {
  await harness.write("/etc/nova/compute_id", ID);
  await harness.write(FILE, ID);
  await harness.start("devstack1", { configFiles: ["/etc/nova/nova.conf"] });
  expect(harness.store.computeNodes.byHost("devstack1")).toMatchObject([{ uuid: ID }]);
});

scenario("2.3 two files that differ are refused", async (harness) => {
  await harness.write("/etc/nova/compute_id", ID);
  await harness.write(FILE, uuidOf(41));
  const rejection = await harness.expectRejection("devstack1", { configFiles: ["/etc/nova/nova.conf"] });
  expect(rejection).toMatchObject({ code: "identity-ambiguous", error: "InvalidNodeConfiguration" });
  expect(rejection.records).toEqual({ "/etc/nova/compute_id": ID, [FILE]: uuidOf(41) });
});

for (const text of ["", "not a uuid", ID.slice(0, 35), `${"x".repeat(40)}${ID}`]) {
  scenario(`2.3 a file that says ${JSON.stringify(text.slice(0, 12))}… is refused`, async (harness) => {
    await harness.write(FILE, text);
    const rejection = await harness.expectRejection("devstack1");
    expect(rejection).toMatchObject({ code: "identity-unparseable", error: "InvalidNodeConfiguration" });
    expect(rejection.message).toContain(FILE);
  });
}

scenario("2.3 a state_path that cannot be written is refused", async (harness) => {
  await harness.write("/state/devstack1", "a file where the folder should be");
  const rejection = await harness.expectRejection("devstack1");
  expect(rejection.error).toBe("InvalidNodeConfiguration");
  expect(harness.store.services.getByHost("devstack1", "nova-compute")).toBeNull();
});

scenario(
  "2.3 row 1 a driver whose nodes have identities of their own needs no file, whatever its name",
  async (harness) => {
    harness.addService("devstack1", 73);
    harness.hypervisor("devstack1").capabilities = { hasNodeIdentities: true };
    const run = await harness.start("devstack1");
    expect(run.agent.state).toBe("serving");
  },
);

scenario("2.3 row 1 a driver is not exempt for its name", async (harness) => {
  harness.addService("devstack1", 73);
  expect((await harness.expectRejection("devstack1", { driverName: "not-ironic" })).code).toBe("identity-lost");
});

scenario("2.3 row 2 version 65 or later without a file is refused", async (harness) => {
  harness.addService("devstack1", 73);
  expect((await harness.expectRejection("devstack1")).code).toBe("identity-lost");
});

scenario("2.3 row 3 version 65 or later with a file starts", async (harness) => {
  harness.addService("devstack1", 73);
  await harness.write(FILE, ID);
  expect((await harness.start("devstack1")).agent.state).toBe("serving");
});

const FFU = { config: { sections: { workarounds: { disable_compute_service_check_for_ffu: true } } } };

scenario("2.3 row 4 an older version with a file starts, and is upgraded", async (harness) => {
  harness.addService("devstack1", 60);
  await harness.write(FILE, ID);
  await harness.start("devstack1", FFU);
  expect(harness.store.services.getByHost("devstack1", "nova-compute")?.version).toBe(74);
});

scenario("2.3 row 5 an older version without a file takes the uuid of its only node", async (harness) => {
  harness.addNode(harness.addService("devstack1", 60), ID, "devstack1");
  await harness.start("devstack1", FFU);
  expect(await harness.read(FILE)).toBe(`${ID}\n`);
});

scenario("2.3 row 6 an older version without file and node is refused", async (harness) => {
  harness.addService("devstack1", 60);
  expect((await harness.expectRejection("devstack1", FFU)).code).toBe("identity-no-node");
});

scenario("2.3 row 7 an older version without a file and with two nodes is refused", async (harness) => {
  const service = harness.addService("devstack1", 60);
  harness.addNode(service, ID, "devstack1");
  harness.addNode(service, uuidOf(41), "devstack1b");
  const rejection = await harness.expectRejection("devstack1", FFU);
  expect(rejection.code).toBe("identity-many-nodes");
  expect(rejection.records).toEqual({ devstack1: ID, devstack1b: uuidOf(41) });
  expect(await harness.read(FILE)).toBeUndefined();
});

scenario("1.2 a deployment with a service that is too old is refused", async (harness) => {
  harness.addService("old", 60);
  const rejection = await harness.expectRejection("devstack1");
  expect(rejection).toMatchObject({ code: "service-too-old", error: "ServiceTooOld" });
  expect(rejection.hint).toContain("disable_compute_service_check_for_ffu");
});

scenario("2.2 row 1 max_disk_devices_to_attach = 0 is refused before the driver is asked anything", async (harness) => {
  const sections = { compute: { max_disk_devices_to_attach: 0 } };
  const rejection = await harness.expectRejection("devstack1", { config: { sections } });
  expect(rejection.code).toBe("max-disk-devices-zero");
  expect(harness.hypervisor("devstack1").calls.map(({ method }) => method)).not.toContain("initHost");
});

scenario("2.1 rows 2, 3 an error in init_host leaves no service, node or provider behind", async (harness) => {
  harness.hypervisor("devstack1").failures.set("initHost", () => new Error("no hypervisor"));
  expect((await harness.failure("devstack1")).message).toContain("no hypervisor");
  expect(harness.store.services.list()).toEqual([]);
  expect(await harness.providers()).toEqual([]);
  expect(await harness.read(FILE)).toBeUndefined();
});
