import { expect, test } from "vitest";
import { wrongAllocations } from "../../../chaos/oracle/allocations.js";
import { aFlavor } from "../../../fixtures/records.js";
import { addInstance, addNode, addService, memoryStore, uuidOf } from "../../cluster/store/support.js";

const SERVER = uuidOf(1);
const METAL = aFlavor({ extraSpecs: { "resources:CUSTOM_BAREMETAL": "1" } });

/** A server whose build on a node of Ironic has failed; the node is `on` a host now. */
async function failedBuild(on: string) {
  const { store } = await memoryStore();
  const node = addNode(store, addService(store, on), "node-1");
  const name = node.hypervisorHostname;
  addInstance(store, SERVER, { host: "ironic1", node: name, computeId: node.id, vmState: "error", flavor: METAL });
  const judge = (held: ReadonlyMap<string, Record<string, Record<string, number>>>, left = 0) =>
    wrongAllocations({ store, now: 0, guests: [], held, providers: new Map() }, { nodesLeft: new Map([[name, left]]) });
  return { held: new Map([[SERVER, { [node.uuid]: { CUSTOM_BAREMETAL: 1 } }]]), judge, store };
}

test("a server whose build has failed holds its node, whichever host has that by now", async () => {
  const { held, judge } = await failedBuild("ironic2");
  expect(judge(held)).toEqual([]);
});

test.each([
  ["before", 0, 1],
  ["after", Number.MAX_SAFE_INTEGER, 0],
] as const)("and nothing, if the node left Ironic %s it was made: %j wrong", async (_, left, wrong) => {
  const { judge } = await failedBuild("ironic1");
  expect(judge(new Map(), left)).toHaveLength(wrong);
});
