import type { NetworkFault } from "../../src/simulation/virtual-network.js";
import { pickHost, type Stage } from "./actors.js";
import type { RunningAgent } from "./running-agent.js";

/** The name of the control plane's process. */
export const CONTROL_PLANE = "control-plane";

/** A host whose agent can be disconnected. */
interface Victim {
  readonly name: string;
  readonly agent: RunningAgent | null;
  harmed: boolean;
}

/** Blocks the network between an agent and the control plane for a while, in both directions or in one. */
export async function partition(stage: Stage): Promise<void> {
  const host = pickHost(stage, ({ agent, harmed }) => agent !== null && !harmed);
  if (host !== undefined) {
    await cutOff(stage, host);
  }
}

export async function cutOff({ cluster, dice, journal, runtime }: Stage, host: Victim): Promise<void> {
  if (host.agent === null) {
    return;
  }
  host.harmed = true;
  const { name } = host.agent.runtime;
  const { network } = cluster.world;
  const milliseconds = dice.pick([500, 3_000, 15_000, 90_000]) ?? 500;
  const way = dice.pick(["both ways", "both ways", "its messages", "its answers", "broken connections"] as const);
  journal.note("world", `partition of ${host.name} for ${milliseconds} ms: ${way}`);
  switch (way) {
    case "broken connections":
      network.sever(name, CONTROL_PLANE);
      break;
    case "its answers":
      network.partition(CONTROL_PLANE, name, { oneWay: true });
      break;
    default:
      network.partition(name, CONTROL_PLANE, { oneWay: way === "its messages" });
  }
  await runtime.timers.sleep(milliseconds);
  network.heal(name, CONTROL_PLANE);
  host.harmed = false;
}

/** Loses, delays or duplicates a few requests or responses of an agent or a user. */
export async function disturbMessages(stage: Stage): Promise<void> {
  const host = stage.dice.chance(0.8) ? pickHost(stage, ({ agent }) => agent !== null) : undefined;
  await disturbRequests(stage, host?.agent?.runtime.name ?? stage.client.process);
}

/** @param from the name of a process */
export async function disturbRequests({ cluster, dice, journal, runtime }: Stage, from: string): Promise<void> {
  const fault: NetworkFault = dice.pick([
    { kind: "lose-answer" },
    { kind: "lose-answer" },
    { kind: "lose-request" },
    { kind: "double" },
    { kind: "latency", milliseconds: dice.pick([100, 2_000, 20_000, 70_000]) ?? 0 },
  ] as const) ?? { kind: "lose-answer" };
  const times = dice.between(1, 6);
  const milliseconds = dice.pick([2_000, 20_000]) ?? 0;
  journal.note("world", `${JSON.stringify(fault)} for ${times} requests of ${from} within ${milliseconds} ms`);
  const end = cluster.world.network.inject({
    fault,
    times,
    match: (request) =>
      request.from === from && request.url.startsWith("http:") && (fault.kind !== "double" || isRepeatable(request)),
  });
  await runtime.timers.sleep(milliseconds);
  end();
}

/** Checks whether a proxy may repeat the request after a broken connection. */
function isRepeatable({ method }: { readonly method: string }): boolean {
  return method !== "POST" && method !== "PATCH";
}
