import { readFile } from "node:fs/promises";
import { INSTANCE, ironicDriver } from "./driver.js";
import { FakeIronic } from "./fake-ironic.js";

export const NODE = "00000000-0000-4000-8000-000000000000";
export const BY_INSTANCE = `GET /v1/nodes?fields=F&instance_uuid=${INSTANCE}`;

/** Creates a driver with one node, which has the instance if its state is active. */
export async function started(changes: Parameters<FakeIronic["add"]>[0] = {}, config = {}, quirks: string[] = []) {
  const ironic = new FakeIronic();
  const node = ironic.add(changes);
  const world = await ironicDriver({ ironic, host: "peer-compute", config, quirks });
  await world.driver.initHost();
  ironic.observedRequests.length = 0;
  return { ...world, node };
}
export const active = { instance_uuid: INSTANCE, provision_state: "active" };

/** Returns the bodies in a section of the requests recorded from Nova master. */
export async function recordedBodies(section: string): Promise<unknown[]> {
  const path = "../../../../fixtures/golden/ironic/recorded-nova-master-calls.txt";
  const text = await readFile(new URL(path, import.meta.url), "utf8");
  const part = text.split(/^## /m).find((title) => title.startsWith(section)) ?? "";
  return [...part.matchAll(/^ {4}body: (.*)$/gm)].map(([, body = ""]) => JSON.parse(body));
}
