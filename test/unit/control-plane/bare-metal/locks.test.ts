import { randomUUID } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { available, claim, get, patch, put } from "../../../peers/ironic/contract/client.js";
import { EmbeddedIronic } from "./embedded-ironic.js";

let ironic: EmbeddedIronic;

beforeEach(async () => {
  ironic = await EmbeddedIronic.open();
});

test("a locked node is tried three times, a second apart, before 409", async () => {
  const node = await available(ironic);
  ironic.fault("hardware.power=hang");
  await put(ironic, `${node.path}/states/power`, { target: "power on" });
  const startedAt = ironic.world.now;
  const { status, fault } = await patch(ironic, node.path, claim(randomUUID()));
  expect([status, fault]).toEqual([
    409,
    `Node ${node.uuid} is locked by host localhost, please retry after the current operation is completed.`,
  ]);
  expect(ironic.world.now - startedAt).toBe(2_000);
  expect((await get(ironic, `${node.path}/validate`)).status).toBe(200);
});

test("a waiting request gets the lock if it is released in time", async () => {
  const node = await available(ironic);
  await put(ironic, `${node.path}/states/power`, { target: "power on" });
  expect((await patch(ironic, node.path, claim(randomUUID()))).status).toBe(200);
});

test("of ten concurrent claims one succeeds; the others fail on the lock or the winner", async () => {
  const node = await available(ironic);
  const instances = Array.from({ length: 10 }, () => randomUUID());
  const replies = await ironic.sendAll(
    instances.map((instance) => ({ method: "PATCH", path: node.path, body: claim(instance) })),
  );
  const outcomes = replies.map(({ status, fault }) =>
    status === 200 ? "won" : (/is (locked|associated)/.exec(fault)?.[1] ?? fault),
  );
  expect(outcomes.filter((text) => text === "won")).toHaveLength(1);
  expect(outcomes.filter((text) => text === "associated")).toHaveLength(2);
  expect(outcomes.filter((text) => text === "locked")).toHaveLength(7);
  expect((await get(ironic, node.path)).body.instance_uuid).toBe(instances[outcomes.indexOf("won")]);
});

test("of ten nodes claimed concurrently for one instance, one gets it", async () => {
  ironic.enrol(10);
  const instance = randomUUID();
  const replies = await ironic.sendAll(
    Array.from({ length: 10 }, (_, index) => ({
      method: "PATCH",
      path: `/v1/nodes/bm-00000${index}`,
      body: claim(instance),
    })),
  );
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
  const lost = replies.filter(({ status }) => status === 409);
  expect(lost.filter(({ fault }) => fault.startsWith(`Instance ${instance} is already associated`))).toHaveLength(9);
  expect((await get(ironic, `/v1/nodes?instance_uuid=${instance}`)).body.nodes).toHaveLength(1);
});

test("a request that waits for a node's lock gets 404 when the node is deleted", async () => {
  const node = await available(ironic);
  const [removed, claimed] = await ironic.sendAll([
    { method: "DELETE", path: node.path },
    { method: "PATCH", path: node.path, body: claim(randomUUID()) },
  ]);
  expect([removed?.status, claimed?.status]).toEqual([204, 404]);
});
