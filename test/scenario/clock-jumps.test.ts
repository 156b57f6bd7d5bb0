import { afterEach, beforeEach, expect, it } from "vitest";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

/** In milliseconds: longer than `service_down_time` and any token's lifetime. */
const JUMPS = [70_000, -70_000, 86_400_000, -86_400_000];

let cloud: VirtualCloud;

beforeEach(async () => {
  cloud = await VirtualCloud.open();
});
afterEach(() => cloud.close());

async function stateOf(host: string): Promise<unknown> {
  const { services } = (await cloud.compute("GET", `/os-services?host=${host}&binary=nova-compute`)).json;
  return (services as { state: string }[])[0]?.state;
}

it.each(JUMPS)("9.4 the clock jumps by %i ms: the agent, its lease and its work survive", async (milliseconds) => {
  const { agent, runtime } = await cloud.agent("devstack1");
  const states: string[] = [];
  agent.onState((state) => states.push(state));
  await cloud.world.advance(20_000);
  expect(await stateOf("devstack1")).toBe("up");

  cloud.world.jumpClock(milliseconds);
  await cloud.logIn();
  // Spec 1.2: after any jump, a report with another time does not count as up; the next heartbeat does.
  expect(await stateOf("devstack1")).toBe("down");
  await cloud.world.advance(15_000);
  expect(await stateOf("devstack1")).toBe("up");

  const created = await cloud.compute("POST", "/servers", {
    server: { name: "vm1", flavorRef: "1", imageRef: await cloud.image(), networks: "none" },
  });
  const { id } = created.json.server as { id: string };
  await cloud.serverIs(id, (server) => server?.status === "ACTIVE");
  await cloud.world.advance(180_000);
  expect(await stateOf("devstack1")).toBe("up");
  expect([agent.state, agent.failure, states]).toEqual(["serving", null, []]);
  expect(runtime.logs.filter(({ level }) => level === "fatal")).toEqual([]);

  const second = await cloud.agent("devstack1").then(
    () => "started",
    (error: Error) => error.name,
  );
  expect(second).toBe("HostLeaseHeld");
});
