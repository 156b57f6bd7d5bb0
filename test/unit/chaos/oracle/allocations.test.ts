import { expect, test } from "vitest";
import { excusedConsumers, wrongAllocations } from "../../../chaos/oracle/allocations.js";
import { notAtRest } from "../../../chaos/oracle/rest.js";
import { aFlavor } from "../../../fixtures/records.js";
import { addInstance, addNode, addService, memoryStore, uuidOf } from "../../control-plane/store/support.js";

const SERVER = uuidOf(1);
const METAL = aFlavor({ extraSpecs: { "resources:CUSTOM_BAREMETAL": "1" } });

/** A server whose build on a node of Ironic has failed; the node is `on` a host now. */
async function failedBuild(on: string) {
  const { store } = await memoryStore();
  const node = addNode(store, addService(store, on), "node-1");
  const name = node.hypervisorHostname;
  addInstance(store, SERVER, { host: "ironic1", node: name, computeId: node.id, vmState: "error", flavor: METAL });
  const snapshot = { store, now: 0, guests: [], providers: new Map() };
  const check = (held: ReadonlyMap<string, Record<string, Record<string, number>>>, left: readonly string[] = []) =>
    wrongAllocations({ ...snapshot, held }, { nodesLeft: new Set(left) });
  const excused = (left: readonly string[]) =>
    excusedConsumers({ ...snapshot, held: new Map() }, new Set(left)).has(SERVER);
  return { held: new Map([[SERVER, { [node.uuid]: { CUSTOM_BAREMETAL: 1 } }]]), check: check, excused, node: name };
}

test("a server whose build has failed holds its node, whichever host has that by now", async () => {
  const { held, check } = await failedBuild("ironic2");
  expect(check(held)).toEqual([]);
});

test("and nothing, if the node has left Ironic meanwhile", async () => {
  const { check, excused, node } = await failedBuild("ironic1");
  expect(check(new Map())).toHaveLength(1);
  expect(check(new Map(), [node])).toEqual([]);
  expect([excused([]), excused([node])], "so that no audit's finding counts either").toEqual([false, true]);
});

test("a build that its agent has lost keeps the node that was claimed for it, where agents share Ironic's nodes", async () => {
  const { store } = await memoryStore();
  const node = addNode(store, addService(store, "ironic2"), "node-1");
  addInstance(store, SERVER, {
    host: null,
    node: null,
    computeId: null,
    vmState: "building",
    taskState: "scheduling",
    flavor: METAL,
  });
  const held = new Map([[SERVER, { [node.uuid]: { CUSTOM_BAREMETAL: 1 } }]]);
  const snapshot = { store, now: 0, guests: [], held, providers: new Map() };
  expect(wrongAllocations(snapshot)).toEqual([]);
  expect(notAtRest(snapshot, { nodesAreShared: true })).toEqual([]);
  expect(notAtRest(snapshot), "one agent has all nodes at its start").toHaveLength(1);
  store.instances.save(SERVER, { taskState: "spawning" });
  expect(notAtRest(snapshot, { nodesAreShared: true })).toHaveLength(1);
});
