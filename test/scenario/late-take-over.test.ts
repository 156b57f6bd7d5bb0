import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FaultSet } from "../../src/faults/fault-set.js";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

let cloud: VirtualCloud;
let id: string;
let destination: FaultSet;

const act = (body: object) => cloud.compute("POST", `/servers/${id}/action`, body);
function is(status: string, host: string) {
  return cloud.serverIs(id, (server) => server?.status === status && server["OS-EXT-SRV-ATTR:host"] === host);
}
async function guestOn(host: string) {
  return (await cloud.runtime.files.stat(`/hypervisors/${host}/domains/${id}.xml`)) !== undefined;
}
async function held() {
  const { json } = await cloud.placement("GET", `/allocations/${id}`);
  const { resource_providers } = (await cloud.placement("GET", "/resource_providers")).json;
  const names = new Map((resource_providers as { uuid: string; name: string }[]).map(({ uuid, name }) => [uuid, name]));
  return Object.keys(json.allocations as object).map((uuid) => names.get(uuid));
}
async function migrations() {
  return (
    (await cloud.compute("GET", "/os-migrations")).json.migrations as { migration_type: string; status: string }[]
  )
    .map(({ migration_type, status }) => `${migration_type} ${status}`)
    .sort();
}

beforeEach(async () => {
  cloud = await VirtualCloud.open();
  await cloud.agent("devstack1");
  destination = (await cloud.agent("devstack2")).faults;
  await cloud.agent("devstack3");
  const server = { name: "vm1", flavorRef: "1", imageRef: await cloud.image(), networks: "none", host: "devstack1" };
  const created = (await cloud.compute("POST", "/servers", { server })).json.server as { id: string };
  id = created.id;
  await is("ACTIVE", "devstack1");
  const slow = { kind: "slow", milliseconds: 4_000 } as const;
  destination.set({ point: "agent.post_live_migration_at_destination.take_over", action: slow, times: 1 });
  await act({ "os-migrateLive": { host: "devstack2", block_migration: "auto" } });
  while (!(await guestOn("devstack2"))) {
    await cloud.world.advance(100);
  }
});
afterEach(() => cloud.close());

/** Wherever the take-over's response was lost, the server has moved on when the request is repeated. */
const lostBetween = {
  "the source and the control plane": "agent-devstack1",
  "the destination and the control plane": "agent-devstack2",
} as const;

describe("6.5 row 8 a take-over that is asked for again when the server has moved on does nothing", () => {
  for (const [where, process] of Object.entries(lostBetween)) {
    test(`its answer was lost between ${where}`, async () => {
      await cloud.world.advance(2_000);
      cloud.world.network.partition(process, "control-plane");
      if (process === "agent-devstack2") {
        // It takes over when it is reconnected, and the source repeats the request after that.
        await cloud.world.advance(1_000);
        cloud.world.network.heal(process, "control-plane");
        cloud.world.network.partition("agent-devstack1", "control-plane");
      }
      await is("ACTIVE", "devstack2");
      await act({ migrate: { host: "devstack3" } });
      await is("VERIFY_RESIZE", "devstack3");
      // The control plane closes silent connections: messages in transit are lost.
      await cloud.world.advance(20_000);
      cloud.world.network.heal("agent-devstack1", "control-plane");
      await cloud.world.advance(120_000);
      await is("VERIFY_RESIZE", "devstack3");
      expect(await held()).toEqual(["devstack3"]);
      expect(await migrations()).toEqual(["live-migration completed", "migration finished"]);
      expect(await Promise.all(["devstack1", "devstack2", "devstack3"].map(guestOn))).toEqual([false, true, true]);
    });
  }
});
