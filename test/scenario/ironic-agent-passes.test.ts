import { expect, test } from "vitest";
import { IronicWorld } from "./ironic-world.js";

/** Registers an agent with a hundred nodes, and counts its requests to Placement. */
async function registered() {
  const world = await IronicWorld.create();
  const nodes = world.nodes(100);
  const agent = await world.registered("h1");
  const flight = { now: 0, most: 0 };
  agent.http.note = async () => {
    flight.now += 1;
    flight.most = Math.max(flight.most, flight.now);
    // A request that takes no time would never overlap with another one.
    await new Promise((resolve) => setImmediate(resolve));
    flight.now -= 1;
  };
  return { world, nodes, agent, flight };
}

test("4.3 the first pass of a hundred nodes: three writes a node, eight at a time, and a handful of reads", async () => {
  const { agent, flight } = await registered();
  await agent.tracker.updateAvailableResource({ startup: true });
  const methods = agent.http.take().map(({ method, path }) => `${method} ${path.replace(/[0-9a-f-]{36}/, "U")}`);
  const count = (start: string) => methods.filter((sent) => sent.startsWith(start)).length;
  expect(count("POST /resource_providers")).toBe(100);
  expect(count("PUT /resource_providers/U/inventories")).toBe(100);
  expect(count("PUT /resource_providers/U/traits")).toBe(100);
  expect(methods.length).toBeLessThan(310);
  expect(flight.most).toBe(8);
});

test("4.3 an unchanged pass lists the providers once, while Ironic lists its nodes", async () => {
  const { world, agent } = await registered();
  await agent.tracker.updateAvailableResource({ startup: true });
  agent.http.take();
  let requests: readonly string[] = [];
  world.ironic.fault = async ({ path }) => {
    if (!path.startsWith("/v1/nodes?")) {
      return undefined;
    }
    // Placement has enough time to receive requests before Ironic responds.
    for (let turn = 0; turn < 100; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    requests = agent.http.requests.map(({ method, path: sent }) => `${method} ${sent}`);
    return undefined;
  };
  await world.pass(agent);
  expect(requests).toEqual(["GET /resource_providers"]);
  expect(agent.http.take()).toHaveLength(1);
});

test("V22 a node whose provider cannot be made keeps none of the others from theirs, and has it a pass later", async () => {
  const { world, nodes, agent } = await registered();
  const [doomed] = nodes;
  agent.http.fault = ({ method, body }) =>
    method === "POST" && JSON.stringify(body).includes(doomed?.uuid ?? "none") ? { status: 500 } : undefined;
  await agent.tracker.updateAvailableResource({ startup: true });
  agent.http.fault = () => undefined;
  const reserved = () => Promise.all(nodes.map((node) => world.reserved(node)));
  expect(await reserved()).toEqual([undefined, ...Array(99).fill(0)]);
  await world.pass(agent);
  expect(await reserved()).toEqual(Array(100).fill(0));
});
