import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

const HOST = "devstack1";

let cloud: VirtualCloud;

beforeEach(async () => {
  cloud = await VirtualCloud.open();
});
afterEach(() => cloud.close());

async function left() {
  const found: string[] = [];
  for (const part of ["domains", "state", "instances"]) {
    for (const file of await cloud.runtime.files.list(`/hypervisors/${HOST}/${part}`)) {
      found.push(`${part}/${file}`);
    }
  }
  return found;
}
async function boot(name: string): Promise<string> {
  const server = { name, flavorRef: "1", imageRef: await cloud.image(), networks: "none", host: HOST };
  return ((await cloud.compute("POST", "/servers", { server })).json.server as { id: string }).id;
}

describe("2.4 G6 an agent that lost its host in the middle of a driver's method", () => {
  test("makes no guest of what it had begun: the next agent has undone it, and the hypervisor refuses the rest", async () => {
    const first = await cloud.agent(HOST, { libvirt: { delay_spawn: 60 }, process: "first" });
    const id = await boot("vm1");
    while (!(await left()).includes(`instances/${id}`)) {
      await cloud.world.advance(1_000);
    }
    // Disconnected, but its driver continues.
    cloud.world.network.partition("first", "control-plane");
    await cloud.world.advance(15_000);
    await cloud.agent(HOST, { process: "second" });
    expect((await cloud.server(id))?.status).toBe("ERROR");
    expect(await left()).toEqual([]);
    await cloud.world.advance(120_000);
    expect(await left()).toEqual([]);
    const rejectionPattern = /rejects the agent of host devstack1 with epoch \d+: its newest epoch is \d+/;
    expect(first.runtime.logs.some(({ fields }) => rejectionPattern.test(String(fields.err)))).toBe(true);
    cloud.world.network.heal("first", "control-plane");
    await cloud.world.advance(60_000);
    expect(first.agent.state).toBe("failed");
    expect(await left()).toEqual([]);
    // The second agent owns the host, and builds there.
    const next = await boot("vm2");
    await cloud.serverIs(next, (server) => server?.status === "ACTIVE");
    expect(await left()).toEqual([`domains/${next}.xml`, `state/${next}`, `instances/${next}`]);
  });

  test("whose host was free again when it came back, does not go on as if nobody had been there", async () => {
    const first = await cloud.agent(HOST, { process: "first" });
    cloud.world.network.partition("first", "control-plane");
    await cloud.world.advance(15_000);
    const second = await cloud.agent(HOST, { process: "second" });
    await cloud.world.runUntil(second.agent.stop());
    cloud.world.network.heal("first", "control-plane");
    await cloud.world.advance(60_000);
    expect(first.agent.failure?.message).toMatch(/another agent may have used the host/);
    await cloud.agent(HOST, { process: "third" });
  });
});
