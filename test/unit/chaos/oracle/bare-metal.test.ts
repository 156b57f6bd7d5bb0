import { expect, test } from "vitest";
import type { Store } from "../../../../src/control-plane/store/store.js";
import { wrongNodes } from "../../../chaos/oracle/bare-metal.js";
import { addInstance, addNode, addService, memoryStore, uuidOf } from "../../control-plane/store/support.js";

const SERVER = uuidOf(1);

/** Returns the broken rules for an active server on an Ironic node. @param node the node as Ironic reports it */
async function wrongOf(
  node: { readonly instance_uuid: string | null; readonly power_state: string },
  { isReset }: { readonly isReset: boolean },
): Promise<readonly string[]> {
  const { store } = await memoryStore();
  const { host, hypervisorHostname: uuid, id: computeId } = addNode(store, addService(store));
  addInstance(store, SERVER, { host, node: uuid, computeId, vmState: "active" });
  const record = JSON.stringify({ uuid, provision_state: "available", ...node });
  // Ironic's table alone: the rest is the store's, which all tests share.
  const all = (sql: string) => [sql.includes("sqlite_schema") ? ["ironic_nodes"] : [record]];
  const withIronic: Store = { ...store, database: Object.assign(Object.create(store.database), { all }) };
  const snapshot = { store: withIronic, now: 0, guests: [], held: new Map(), providers: new Map([[uuid, uuid]]) };
  return wrongNodes(snapshot, [uuid], new Set(isReset ? [SERVER] : [])).map(({ what }) => what);
}

test.each([
  ["its node", SERVER, "power on", false, 0],
  ["its node, which is off", SERVER, "power off", false, 1],
  ["no node", null, "power off", false, 2],
  ["another's node", uuidOf(2), "power on", false, 1],
  ["its node, which is off, reset", SERVER, "power off", true, 0],
  ["no node, reset", null, "power off", true, 0],
  ["another's node, reset", uuidOf(2), "power on", true, 1],
] as const)("an active server with %s", async (_, owner, power, isReset, wrong) => {
  expect(await wrongOf({ instance_uuid: owner, power_state: power }, { isReset })).toHaveLength(wrong);
});
