import type { Stage } from "../actors.js";
import { CONTROL_PLANE, cutOff, disturbRequests } from "../network-trouble.js";

/** What happens to the network of other hosts, or all that one of Ironic's agents sends and hears comes late for a while. */
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

/** A list of nodes, not what one instance has. */
const LISTING = /^http:.*\/v1\/nodes(\/detail)?\?(?!.*instance_uuid=)/;

/** Ironic takes its time for its list of nodes, as one with thousands does. */
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
