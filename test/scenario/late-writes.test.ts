import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FaultSet } from "../../src/faults/fault-set.js";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

let cloud: VirtualCloud;
let id: string;
let source: FaultSet;
let destination: FaultSet;

const act = (body: object) => cloud.compute("POST", `/servers/${id}/action`, body, "2.79");
const instance = () => cloud.store.instances.get(id);

beforeEach(async () => {
  cloud = await VirtualCloud.open();
  source = (await cloud.agent("devstack1")).faults;
  destination = (await cloud.agent("devstack2")).faults;
  const server = { name: "vm1", flavorRef: "1", imageRef: await cloud.image(), networks: "none", host: "devstack1" };
  id = String(((await cloud.compute("POST", "/servers", { server })).json.server as { id: string }).id);
  await cloud.serverIs(id, (found) => found?.status === "ACTIVE");
});
afterEach(() => cloud.close());

/** Fences the host, as the operator believes, and evacuates the server to the other one. */
async function evacuated(): Promise<void> {
  const { services } = (await cloud.compute("GET", "/os-services?host=devstack1&binary=nova-compute")).json;
  const [found] = services as { id: string }[];
  await cloud.compute("PUT", `/os-services/${found?.id}`, { forced_down: true });
  await act({ evacuate: {} });
  await cloud.serverIs(
    id,
    (server) => server?.["OS-EXT-SRV-ATTR:host"] === "devstack2" && server["OS-EXT-STS:task_state"] === null,
  );
}

describe("4.2, 6.7 an agent that was held at its last write leaves a server that was evacuated meanwhile as it is", () => {
  test.each<[string, object]>([
    ["pause_instance", { pause: null }],
    ["suspend_instance", { suspend: null }],
    ["stop_instance", { "os-stop": null }],
    ["reboot_instance", { reboot: { type: "HARD" } }],
    ["rescue_instance", { rescue: {} }],
    ["shelve_instance", { shelve: null }],
    ["rebuild_instance", { rebuild: { imageRef: "c0ffee00-0000-4000-8000-000000000001" } }],
  ])("%s", async (operation, body) => {
    const slow = { kind: "slow", milliseconds: 60_000 } as const;
    source.set({ point: `agent.${operation}.record`, action: slow, times: 1 });
    await act(body);
    await cloud.world.advance(10_000);
    await evacuated();
    const before = instance();
    await cloud.world.advance(120_000);
    const { updatedAt: _, ...unchanged } = before ?? {};
    expect(instance()).toMatchObject({ ...unchanged, host: "devstack2", taskState: null });
  });

  test("nor while it is evacuated", async () => {
    const slow = { kind: "slow", milliseconds: 30_000 } as const;
    source.set({ point: "agent.rebuild_instance.record", action: slow, times: 1 });
    await act({ rebuild: { imageRef: "c0ffee00-0000-4000-8000-000000000001" } });
    await cloud.world.advance(10_000);
    const late = { kind: "slow", milliseconds: 60_000 } as const;
    destination.set({ point: "agent.evacuate_instance.record", action: late, times: 1 });
    await evacuated();
    expect(instance()).toMatchObject({ host: "devstack2", taskState: null });
  });
});
