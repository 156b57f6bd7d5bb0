import type { Stage } from "../actors.js";
import { CONTROL_PLANE, cutOff, disturbRequests } from "../network-trouble.js";

/** Disturbs the network of one of Ironic's agents, like that of other hosts, or delays all its messages for a while. */
export async function disturbIronicNetwork(stage: Stage): Promise<void> {
  const { cluster, dice, journal, runtime } = stage;
  const host = dice.pick(cluster.ironic.all.filter(({ agent, harmed }) => agent !== null && !harmed));
  if (host?.agent == null) {
    return;
  }
  const kind = dice.pick(["partition", "requests", "late", "late"] as const);
  if (kind === "partition") {
    return cutOff(stage, host);
  }
  const { name } = host.agent.runtime;
  if (kind === "requests") {
    return disturbRequests(stage, name);
  }
  const late = dice.pick([300, 1_000, 2_000]) ?? 0;
  const milliseconds = dice.pick([20_000, 90_000, 200_000]) ?? 0;
  journal.note("world", `each message of ${host.name} takes ${late} ms for ${milliseconds} ms`);
  const end = cluster.world.network.delay(name, CONTROL_PLANE, late);
  await runtime.timers.sleep(milliseconds);
  end();
}

/** Matches lists of all nodes, but not the query for an instance's node. */
const LISTING = /^http:.*\/v1\/nodes(\/detail)?\?(?!.*instance_uuid=)/;

/** Makes Ironic's node list slow, as with thousands of nodes. */
export async function delayListings({ cluster, dice, journal, runtime }: Stage): Promise<void> {
  const late = dice.pick([1_000, 5_000, 20_000]) ?? 0;
  const milliseconds = dice.pick([60_000, 200_000]) ?? 0;
  journal.note("world", `each list of Ironic's nodes takes ${late} ms for ${milliseconds} ms`);
  const end = cluster.world.network.inject({
    fault: { kind: "late-request", milliseconds: late },
    match: ({ from, method, url }) => from.startsWith("agent-ironic") && method === "GET" && LISTING.test(url),
  });
  await runtime.timers.sleep(milliseconds);
  end();
}
