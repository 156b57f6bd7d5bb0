import { beforeEach, expect, test } from "vitest";
import type { HostSession } from "../../src/conductor-client/port.js";
import { VirtualWorld } from "../../src/simulation/virtual-world.js";
import { agentHandlers } from "../fixtures/agent-handlers.js";
import { type InProcessConductor, startInProcessConductor } from "../fixtures/in-process-conductor.js";

let world: VirtualWorld;
let cluster: InProcessConductor;
let reportedHosts: string[];
beforeEach(async () => {
  world = new VirtualWorld();
  cluster = await startInProcessConductor(world);
  reportedHosts = [];
});

async function serving(host: string, process?: string): Promise<HostSession> {
  const { session } = cluster.agent(host, process === undefined ? {} : { process });
  await world.runUntil(session.acquireLease());
  await world.runUntil(session.serve(agentHandlers(() => undefined)));
  return session;
}

const watch = () => cluster.conductor.guests.begin((host) => reportedHosts.push(host));

test("an agent tells of its guests while somebody looks, and at no other time", async () => {
  const session = await serving("one");
  session.guestsChanged?.();
  await world.advance(1_000);
  const end = watch();
  await world.advance(1_000);
  expect(reportedHosts).toEqual([]);
  session.guestsChanged?.();
  session.guestsChanged?.();
  await world.advance(1_000);
  expect(reportedHosts).toEqual(["one"]);
  end();
  await world.advance(1_000);
  const again = watch();
  // The earlier viewer gets no more notifications, and the new viewer gets no earlier ones.
  again();
  session.guestsChanged?.();
  await world.advance(1_000);
  expect(reportedHosts).toEqual(["one"]);
});

test("who connects while somebody looks tells, too, also after a restart of the control plane", async () => {
  const end = watch();
  const session = await serving("one");
  session.guestsChanged?.();
  await world.advance(1_000);
  expect(reportedHosts).toEqual(["one"]);
  end();
  cluster.kill();
  await cluster.restart();
  watch();
  await world.advance(20_000);
  session.guestsChanged?.();
  await world.advance(1_000);
  expect(reportedHosts).toEqual(["one", "one"]);
});

test("one who looks is told until the last one leaves", async () => {
  const session = await serving("one");
  const first = watch();
  const second = watch();
  first();
  await world.advance(1_000);
  session.guestsChanged?.();
  await world.advance(1_000);
  expect(reportedHosts).toEqual(["one"]);
  second();
  await world.advance(1_000);
  session.guestsChanged?.();
  await world.advance(1_000);
  expect(reportedHosts).toEqual(["one"]);
});

test("the hosts of a process are told of together; of a host that it serves no more it tells nothing", async () => {
  const [one, two] = [await serving("one", "pool"), await serving("two", "pool")];
  watch();
  await world.advance(1_000);
  one.guestsChanged?.();
  two.guestsChanged?.();
  await world.advance(1_000);
  expect(reportedHosts).toEqual(["one", "two"]);
  await world.runUntil(two.stopServing());
  two.guestsChanged?.();
  one.guestsChanged?.();
  await world.advance(1_000);
  await world.runUntil(one.close());
  one.guestsChanged?.();
  await world.advance(1_000);
  expect(reportedHosts).toEqual(["one", "two", "one"]);
});
