import { beforeEach, describe, expect, test } from "vitest";
import {
  active,
  available,
  claim,
  enrolled,
  get,
  patch,
  post,
  provision,
  put,
  remove,
  settled,
  type TestNode,
  until,
} from "../../../peers/ironic/contract/client.js";
import { EmbeddedIronic } from "./embedded-ironic.js";

const INSTANCE = "11111111-2222-4333-8444-555555555555";
const FAULT = "failed because of an injected fault";

let ironic: EmbeddedIronic;

beforeEach(async () => {
  ironic = await EmbeddedIronic.open();
});

const readNode = async (node: TestNode) => (await get(ironic, node.path)).body;
async function claimed(): Promise<TestNode> {
  const node = await available(ironic);
  await patch(ironic, node.path, claim(INSTANCE));
  return node;
}

describe("failing hardware", () => {
  test("a failed deploy keeps instance and target, and can be deployed again or torn down", async () => {
    const node = await claimed();
    ironic.fault("hardware.deploy=fail:once");
    await provision(ironic, node, { target: "active" });
    await until(ironic, node, { provision_state: "deploy failed", reservation: null });
    expect(await readNode(node)).toMatchObject({
      target_provision_state: "active",
      instance_uuid: INSTANCE,
      last_error: expect.stringContaining(`Failed to deploy: hardware.deploy ${FAULT}`),
      power_state: "power off",
    });
    await provision(ironic, node, { target: "active" });
    await until(ironic, node, settled("active"));
    expect((await readNode(node)).last_error).toBeNull();
  });

  test("a failed tear-down ends in error, without the instance", async () => {
    const node = await active(ironic);
    ironic.fault("hardware.tear-down=fail:once");
    await provision(ironic, node, { target: "deleted" });
    await until(ironic, node, settled("error"));
    expect(await readNode(node)).toMatchObject({
      instance_uuid: null,
      last_error: expect.stringContaining("Failed to tear down"),
    });
    await provision(ironic, node, { target: "deleted" });
    await until(ironic, node, settled("available"));
  });

  test("a failed cleaning puts the node in maintenance; managed and provided again it is available", async () => {
    const node = await active(ironic);
    ironic.fault("hardware.clean=fail:once");
    await provision(ironic, node, { target: "deleted" });
    await until(ironic, node, { provision_state: "clean failed", reservation: null });
    expect(await readNode(node)).toMatchObject({
      maintenance: true,
      fault: "clean failure",
      target_provision_state: "available",
      instance_uuid: null,
    });
    await provision(ironic, node, { target: "manage" });
    expect(await readNode(node)).toMatchObject(settled("manageable"));
    expect((await put(ironic, `${node.path}/states/provision`, { target: "provide" })).fault).toContain(
      "The providing operation can't be performed",
    );
    await ironic.sendAll([{ method: "DELETE", path: `${node.path}/maintenance` }]);
    expect(await readNode(node)).toMatchObject({ maintenance: false, fault: null });
    await provision(ironic, node, { target: "provide" });
    await until(ironic, node, settled("available"));
  });

  test.each([
    ["rescue", { target: "rescue", rescue_password: "x" }, "rescue failed"],
    ["deploy", { target: "rebuild" }, "deploy failed"],
  ])("a failed %s keeps the instance", async (work, body, state) => {
    const node = await active(ironic);
    ironic.fault(`hardware.${work}=fail:once`);
    await provision(ironic, node, body);
    await until(ironic, node, { provision_state: state, reservation: null, instance_uuid: node.instance });
    await provision(ironic, node, { target: "deleted" });
    await until(ironic, node, settled("available"));
  });

  test("a failed verification leaves the node enrolled, a failed power change leaves its power", async () => {
    const node = await available(ironic);
    ironic.fault("hardware.power=fail:once");
    await put(ironic, `${node.path}/states/power`, { target: "power on" });
    await until(ironic, node, { target_power_state: null, reservation: null });
    expect(await readNode(node)).toMatchObject({
      power_state: "power off",
      last_error: expect.stringContaining("Failed to change power state to 'power on'"),
    });
    const other = await enrolled(ironic);
    ironic.fault("hardware.verify=fail:once");
    await provision(ironic, other, { target: "manage" });
    await until(ironic, other, settled("enroll"));
    expect((await readNode(other)).last_error).toContain("Failed to get power state");
  });

  test("hardware that hangs keeps the lock until the fault is cleared", async () => {
    const node = await claimed();
    ironic.fault("hardware.deploy=hang");
    await provision(ironic, node, { target: "active" });
    await ironic.world.advance(600_000);
    expect(await readNode(node)).toMatchObject({ provision_state: "deploying", reservation: "localhost" });
    ironic.clear();
    await until(ironic, node, settled("active"));
  });

  test("validate reports the fault of the deploy interface", async () => {
    const node = await available(ironic);
    ironic.fault("hardware.validate=fail:once");
    expect((await get(ironic, `${node.path}/validate`)).body).toMatchObject({
      deploy: { result: false, reason: expect.stringContaining(FAULT) },
      power: { result: true },
    });
    expect((await get(ironic, `${node.path}/validate`)).body).toMatchObject({ deploy: { result: true } });
  });
});

describe("ports of nodes", () => {
  test("ports stored by an earlier release get defaults for missing attributes", async () => {
    ironic.enrol(1);
    const { database } = ironic.store;
    const drop = "json_remove(record, '$.extra', '$.local_link_connection', '$.is_smartnic', '$.updated_at')";
    database.run(`UPDATE ironic_ports SET record = ${drop}`);
    ironic.restart();
    const { ports } = (await get(ironic, "/v1/ports/detail")).body as { ports: unknown[] };
    expect(ports).toEqual([
      expect.objectContaining({ extra: {}, local_link_connection: {}, is_smartnic: false, updated_at: null }),
    ]);
  });

  test("a port with a VIF can only be deleted in maintenance; deleting the attached VIF is rejected", async () => {
    const node = await active(ironic);
    await post(ironic, `${node.path}/vifs`, { id: "vif-1" });
    const { ports } = (await get(ironic, `${node.path}/ports`)).body as { ports: { uuid: string }[] };
    const path = `/v1/ports/${ports[0]?.uuid}`;
    expect((await get(ironic, path)).body.internal_info).toEqual({ tenant_vif_port_id: "vif-1" });
    const rejection = await remove(ironic, path);
    expect([rejection.status, rejection.fault]).toEqual([
      409,
      `Cannot delete the port ${ports[0]?.uuid} as it is bound to VIF vif-1 for tenant use.`,
    ]);
    await put(ironic, `${node.path}/maintenance`, {});
    expect((await remove(ironic, path)).status).toBe(204);
    expect((await get(ironic, `${node.path}/vifs`)).body).toEqual({ vifs: [] });
  });

  test("a patch of node_uuid moves a port to another node", async () => {
    const [node, other] = [await enrolled(ironic), await enrolled(ironic)];
    const { ports } = (await get(ironic, `${node.path}/ports`)).body as { ports: { uuid: string }[] };
    const path = `/v1/ports/${ports[0]?.uuid}`;
    const moved = await patch(ironic, path, [{ op: "replace", path: "/node_uuid", value: other.uuid }]);
    expect([moved.status, moved.body.node_uuid]).toEqual([200, other.uuid]);
    ironic.restart();
    expect((await get(ironic, `${node.path}/ports`)).body.ports).toEqual([]);
    expect((await get(ironic, `${other.path}/ports`)).body.ports).toHaveLength(2);
  });
});

describe("after kill -9 of the control plane", () => {
  test("a deploy continues under its lock and ends at its original time", async () => {
    const node = await claimed();
    const begun = ironic.world.now;
    await provision(ironic, node, { target: "active" });
    await ironic.world.advance(1_000);
    ironic.restart();
    expect(await readNode(node)).toMatchObject({
      provision_state: "deploying",
      reservation: "localhost",
      instance_uuid: INSTANCE,
    });
    await until(ironic, node, settled("active"));
    expect(ironic.world.now - begun).toBeLessThan(4_200);
  });

  test("a teardown continues through cleaning to available", async () => {
    const node = await active(ironic);
    await provision(ironic, node, { target: "deleted" });
    ironic.restart();
    await until(ironic, node, { provision_state: "cleaning", instance_uuid: null });
    ironic.restart();
    await until(ironic, node, settled("available"));
  });

  test("operations that became due meanwhile end immediately, including power changes", async () => {
    const node = await available(ironic);
    await put(ironic, `${node.path}/states/power`, { target: "power on" });
    await ironic.whileDown(60_000);
    await until(ironic, node, { power_state: "power on", target_power_state: null, reservation: null });
  });

  test("nodes, ports, claims and their order are unchanged", async () => {
    ironic.enrol(30);
    const { uuid } = await available(ironic);
    await patch(ironic, `/v1/nodes/${uuid}`, claim(INSTANCE));
    const before = await get(ironic, "/v1/nodes/detail");
    const node_uuid = uuid;
    const address = "52:54:00:0a:00:01";
    await post(ironic, "/v1/ports", { node_uuid, address, extra: { rack: 1 }, physical_network: "p1", uuid: INSTANCE });
    await patch(ironic, `/v1/ports/${INSTANCE}`, [{ op: "add", path: "/extra/slot", value: 2 }]);
    const ports = await get(ironic, "/v1/ports?detail=true");
    expect(ports.body.ports).toContainEqual(expect.objectContaining({ address, extra: { rack: 1, slot: 2 } }));
    ironic.restart();
    expect((await get(ironic, "/v1/nodes/detail")).body).toEqual(before.body);
    expect((await get(ironic, "/v1/ports?detail=true")).body).toEqual(ports.body);
    const taken = await patch(ironic, "/v1/nodes/bm-000003", claim(INSTANCE));
    expect(taken.fault).toContain("is already associated with a node");
  });
});
