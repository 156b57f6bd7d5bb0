import fc from "fast-check";
import { describe, expect } from "vitest";
import type { AgentHandlers } from "../../src/conductor-client/port.js";
import { VirtualWorld } from "../../src/simulation/virtual-world.js";
import { agentHandlers } from "../fixtures/agent-handlers.js";
import { type AgentInWorld, startInProcessConductor } from "../fixtures/in-process-conductor.js";
import { property } from "../fixtures/property.js";

const HOST = "devstack1";

/** The requests and failures that may occur between two steps of time. */
const happening = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ kind: "call" as const }) },
  { weight: 4, arbitrary: fc.constant({ kind: "cast" as const }) },
  { weight: 3, arbitrary: fc.constant({ kind: "cast from agent" as const }) },
  { weight: 3, arbitrary: fc.constant({ kind: "call from agent" as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: "partition" as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: "heal" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "restart control plane" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "kill agent" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "serve anew" as const }) },
);
/** Frames take 20 ms each way: short waits break connections between a request and its response. */
const wait = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 60 }) },
  { weight: 2, arbitrary: fc.integer({ min: 60, max: 6_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 8_000, max: 20_000 }) },
);
const story = fc.array(fc.record({ what: happening, wait }), { minLength: 10, maxLength: 60 });

/** Creates handlers that record each request. */
function handlers(keep: (method: string, requestId: string) => void): AgentHandlers {
  return agentHandlers((method, params) => keep(method, "requestId" in params ? String(params.requestId) : ""));
}

describe("calls and casts are carried out once, in order, whatever breaks", () => {
  property([fc.integer(), story], { numRuns: 40, seed: 20_260_821 })("over a random story", async (seed, steps) => {
    const world = new VirtualWorld({ seed });
    world.network.latency = 20;
    const cluster = await startInProcessConductor(world);
    const { store } = cluster;
    const service = store.services.create({ host: HOST, binary: "nova-compute", topic: "compute", version: 73 });
    /** The casts that each boot of the agent received. */
    const boots: string[][] = [];
    const castIds: string[] = [];
    const fromAgent: string[] = [];
    const calls: string[] = [];
    const confirmed: string[] = [];
    let repliedCount = 0;
    let unsure = 0;

    const boot = (): AgentInWorld => {
      const agent = cluster.agent(HOST);
      const taken: string[] = [];
      boots.push(taken);
      const serve = async () => {
        await agent.session.acquireLease();
        await agent.session.serve(handlers((_, requestId) => taken.push(requestId)));
      };
      serve().catch(() => {});
      return agent;
    };
    let agent = boot();
    const neighbour = cluster.agent("devstack2");

    const call = (): void => {
      const mine = agent;
      unsure += 1;
      mine.session.call("service_report_state", { id: service.id }, { timeout: 3_600_000 }).then(
        () => {
          unsure -= 1;
          repliedCount += 1;
        },
        () => {},
      );
    };

    for (const { what, wait } of steps) {
      const id = `req-${castIds.length + fromAgent.length + calls.length}`;
      const params = { instanceUuid: "00000000-0000-4000-8000-000000000001", requestId: id };
      switch (what.kind) {
        case "call":
          call();
          break;
        case "cast":
          castIds.push(id);
          store.transaction(() => cluster.conductor.bus.cast(HOST, "terminate_instance", params, id));
          break;
        case "cast from agent":
          fromAgent.push(id);
          neighbour.session.castAgent(HOST, "start_instance", params, { timeout: 3_600_000 }).catch(() => {});
          break;
        case "call from agent":
          calls.push(id);
          neighbour.session
            .callAgent(HOST, "confirm_resize", { ...params, migrationId: 1 }, { timeout: 60_000 })
            .then(() => confirmed.push(id))
            .catch(() => {});
          break;
        case "partition":
          world.network.partition(`agent-${HOST}`, "control-plane");
          world.network.partition("agent-devstack2", "control-plane");
          break;
        case "heal":
          world.network.heal(`agent-${HOST}`, "control-plane");
          world.network.heal("agent-devstack2", "control-plane");
          break;
        case "restart control plane":
          cluster.kill();
          await world.advance(500);
          await cluster.restart();
          break;
        case "kill agent":
          agent.runtime.kill();
          agent = boot();
          break;
        case "serve anew":
          agent.session
            .stopServing()
            .then(() => agent.session.serve(handlers((_, requestId) => boots.at(-1)?.push(requestId))))
            .catch(() => {});
          break;
      }
      await world.advance(wait);
    }
    world.network.heal(`agent-${HOST}`, "control-plane");
    world.network.heal("agent-devstack2", "control-plane");
    await world.advance(120_000);

    // Calls: each acknowledged one counts once; those of killed agents at most once.
    const { reportCount } = store.services.get(service.id) ?? { reportCount: -1 };
    expect(reportCount).toBeGreaterThanOrEqual(repliedCount);
    expect(reportCount).toBeLessThanOrEqual(repliedCount + unsure);
    if (boots.length === 1) {
      expect(unsure).toBe(0);
    }
    // Calls of agents: an acknowledged call was processed. Casts: none is lost. Neither is processed twice within a
    // boot, and the casts of one sender stay in order.
    expect(boots.flat()).toEqual(expect.arrayContaining(confirmed));
    expect(new Set(boots.flat().filter((id) => !calls.includes(id)))).toEqual(new Set([...castIds, ...fromAgent]));
    for (const taken of boots) {
      expect(new Set(taken).size).toBe(taken.length);
      expect(taken.filter((id) => castIds.includes(id))).toEqual(castIds.filter((id) => taken.includes(id)));
      expect(taken.filter((id) => fromAgent.includes(id))).toEqual(fromAgent.filter((id) => taken.includes(id)));
    }
    expect(store.messages.pending(HOST)).toEqual([]);
  });
});
