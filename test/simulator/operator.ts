import { act, pickHost, type Stage } from "./actors.js";
import type { SimulatedHost } from "./simulated-cluster.js";

/** Fences a host that does not respond: in most cases it is killed before its servers are evacuated. */
export async function fence(stage: Stage): Promise<void> {
  const { cluster, dice, runtime } = stage;
  const down = pickHost(stage, ({ serves, fenced }) => !serves && !fenced);
  const host = down ?? pickHost(stage, ({ harmed, fenced }) => !harmed && !fenced);
  if (host === undefined) {
    return;
  }
  host.fenced = true;
  if (down === undefined || dice.chance(0.8)) {
    host.agent?.runtime.kill();
    host.agent = null;
  }
  if (!(await setForcedDown(stage, host, true))) {
    return;
  }
  for (const id of await serversOn(stage, host)) {
    if (dice.chance(0.8)) {
      await evacuateServer(stage, id);
    }
  }
  if (dice.chance(0.5)) {
    await runtime.timers.sleep(dice.pick([0, 2_000, 10_000, 90_000]) ?? 0);
    if (host.agent === null && !host.harmed) {
      await cluster.startAgent(host);
    }
  }
}

/** Evacuates one of the remaining servers, independently of the operations in progress on it. */
export async function evacuateOne(stage: Stage): Promise<void> {
  const host = pickHost(stage, ({ fenced }) => fenced);
  const id = host && stage.dice.pick(await serversOn(stage, host));
  if (id !== undefined) {
    await evacuateServer(stage, id);
  }
}

async function evacuateServer(stage: Stage, id: string): Promise<void> {
  const { cluster, dice } = stage;
  const host = dice.chance(0.5) ? {} : { host: dice.pick(cluster.hosts)?.name };
  // Only with force can a server get to a host that its group's policy forbids.
  const forced = "host" in host && dice.chance(cluster.plan.deployment.groups ? 0.6 : 0.2);
  const body = { evacuate: forced ? { ...host, force: true } : host };
  const version = forced ? "2.67" : dice.chance(0.3) ? "2.95" : "2.94";
  await act(stage, "evacuate", { method: "POST", path: `/servers/${id}/action`, body, version }, id);
}

/**
 * Returns a fenced host to service; otherwise no host would be left for evacuations.
 * If it is forced up during an evacuation from it, which Nova permits, the guest remains there until the agent
 * restarts.
 */
export async function forceUp(stage: Stage): Promise<void> {
  const host = pickHost(
    stage,
    ({ agent, fenced, harmed, serves }) => fenced && (serves || (agent === null && !harmed)),
  );
  if (host?.agent === null) {
    await stage.cluster.startAgent(host);
  }
  if (host?.serves && !isEvacuated(stage, host) && (await setForcedDown(stage, host, false))) {
    host.fenced = false;
  }
}

/** Checks whether an evacuation from the host is in progress. */
export function isEvacuated({ cluster }: Stage, { name }: SimulatedHost): boolean {
  const statuses = ["accepted", "pre-migrating"] as const;
  const filters = { sourceCompute: name, migrationTypes: ["evacuation"], statuses } as const;
  return cluster.controlPlaneRuns && cluster.store.migrations.byFilters(filters).length > 0;
}

export async function setForcedDown(stage: Stage, host: SimulatedHost, forcedDown: boolean): Promise<boolean> {
  const id = await serviceId(stage, host);
  const body = { forced_down: forcedDown };
  const name = forcedDown ? "force down" : "force up";
  return (
    id !== null &&
    (await act(stage, `${name} ${host.name}`, { method: "PUT", path: `/os-services/${id}`, body })) === 200
  );
}

export async function setStatus(stage: Stage, host: SimulatedHost | undefined, status: string): Promise<void> {
  const id = host && (await serviceId(stage, host));
  if (id) {
    await act(stage, `${status} ${host.name}`, { method: "PUT", path: `/os-services/${id}`, body: { status } });
  }
}

/**
 * Deletes the service of a host that is down and has no guests except leftovers of moves. Its agent creates it again
 * when it returns.
 */
export async function deleteService(stage: Stage): Promise<void> {
  const host = pickHost(stage, ({ serves, harmed }) => !serves && !harmed);
  const id = host && (await serviceId(stage, host));
  const guests = host && (await stage.cluster.guestsOf(host, stage.runtime));
  if (id && guests?.every(({ leftBehind }) => leftBehind)) {
    await act(stage, `delete service ${host.name}`, { method: "DELETE", path: `/os-services/${id}` });
  }
}

/** Creates, changes and deletes host aggregates. */
export async function changeAggregate(stage: Stage): Promise<void> {
  const { client, cluster, dice } = stage;
  const response = await client.compute("GET", "/os-aggregates");
  const aggregate = dice.pick(Object.values(response?.body.aggregates ?? {}));
  if (aggregate === undefined || dice.chance(0.2)) {
    const body = { aggregate: { name: `aggregate-${dice.between(1, 9)}` } };
    await act(stage, "create aggregate", { method: "POST", path: "/os-aggregates", body });
    return;
  }
  const path = `/os-aggregates/${String(aggregate.id)}`;
  if (dice.chance(0.1)) {
    await act(stage, "delete aggregate", { method: "DELETE", path });
    return;
  }
  const host = dice.pick(cluster.hosts)?.name;
  const body = dice.chance(0.6) ? { add_host: { host } } : { remove_host: { host } };
  await act(stage, "change aggregate", { method: "POST", path: `${path}/action`, body });
}

export async function serviceId({ client }: Stage, host: SimulatedHost): Promise<string | null> {
  const response = await client.compute("GET", `/os-services?binary=nova-compute&host=${host.name}`);
  const id = response?.body.services?.[0]?.id;
  return id === undefined ? null : String(id);
}

export async function serversOn({ client }: Stage, host: SimulatedHost): Promise<readonly string[]> {
  const response = await client.compute("GET", `/servers?all_tenants=1&host=${host.name}`);
  return Object.values(response?.body.servers ?? {}).map(({ id }) => String(id));
}
