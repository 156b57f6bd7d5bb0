import { OPERATIONS, type Operation } from "../chaos/operations.js";
import { act, type Stage } from "./actors.js";
import type { Json } from "./client.js";
import { drawNetworksOf } from "./networks.js";

export const IMAGE = "c0ffee00-0000-4000-8000-000000000001";

/** The max number of servers per host. */
const PER_HOST = 4;

export async function createServer(stage: Stage): Promise<void> {
  const { client, cluster, dice, journal } = stage;
  if ((await servers(stage)).length >= PER_HOST * cluster.hosts.length) {
    return;
  }
  const host = dice.chance(0.2) ? dice.pick(cluster.hosts)?.name : undefined;
  const server = {
    name: `server-${journal.lines.length}`,
    flavorRef: dice.pick(["1", "1", "2"]),
    imageRef: IMAGE,
    networks: await drawNetworksOf(stage),
    ...(host === undefined ? {} : { host }),
  };
  const group = cluster.plan.deployment.groups && dice.chance(0.5) ? await groupOf(stage) : undefined;
  const hints = group === undefined ? {} : { "os:scheduler_hints": { group } };
  const response = await client.compute("POST", "/servers", { server, ...hints });
  const id = response?.body.server?.id;
  journal.note("api", `create ${JSON.stringify(server)} -> ${response?.status ?? "no answer"}`, id && String(id));
  if (response?.status === 202) {
    journal.count("create");
  }
}

/** Returns one of the first two server groups; creates it if necessary. */
async function groupOf({ client, dice }: Stage): Promise<string | undefined> {
  const known = await client.compute("GET", "/os-server-groups");
  const groups = Object.values(known?.body.server_groups ?? {});
  if (groups.length > 1 || dice.chance(0.5)) {
    return dice.pick(groups.map(({ id }) => String(id)));
  }
  const policy = dice.pick(["anti-affinity", "anti-affinity", "affinity", "soft-anti-affinity"]);
  const made = await client.compute("POST", "/os-server-groups", { server_group: { name: policy, policy } });
  const id = made?.body.server_group?.id;
  return id === undefined ? undefined : String(id);
}

/** An operation to request. */
export interface Errand {
  readonly operation: Operation;
  readonly server: string;
}

/** Draws an operation that usually suits the server's state, and sometimes does not. */
export async function drawErrand(stage: Stage): Promise<Errand | undefined> {
  const { dice } = stage;
  const server = choose(stage, await servers(stage));
  if (server === undefined) {
    return undefined;
  }
  const fitting = OPERATIONS.filter(({ statuses }) => statuses.includes(String(server.status)));
  const operation = dice.weighted(fitting.length > 0 && dice.chance(0.92) ? fitting : OPERATIONS);
  return operation && { operation, server: String(server.id) };
}

export async function actOnServer(stage: Stage): Promise<void> {
  const errand = await drawErrand(stage);
  if (errand !== undefined) {
    await run(stage, errand);
  }
}

/** Checks whether the server is on one of Ironic's nodes. */
export function isOfBareMetal({ flavor }: Json): boolean {
  return String(flavor?.original_name) === "baremetal";
}

export async function run(stage: Stage, { operation, server }: Errand): Promise<void> {
  if (operation.body === null) {
    return deleteServer(stage, server);
  }
  const hosts = stage.cluster.hosts.map(({ name }) => name);
  const body = operation.body(stage.dice, hosts);
  const version = operation.version === undefined ? {} : { version: operation.version };
  await act(stage, operation.name, { method: "POST", path: `/servers/${server}/action`, body, ...version }, server);
}

export async function deleteAny(stage: Stage): Promise<void> {
  const server = choose(stage, await servers(stage));
  if (server !== undefined) {
    await deleteServer(stage, String(server.id));
  }
}

async function deleteServer(stage: Stage, id: string): Promise<void> {
  const status = await act(stage, "delete", { method: "DELETE", path: `/servers/${id}` }, id);
  if (status === 204) {
    stage.journal.deleted.add(id);
  }
}

/** Repeats a delete as a force delete, which also deletes a soft-deleted server. */
export async function forceDelete(stage: Stage, id: string): Promise<void> {
  await act(stage, "force delete", { method: "POST", path: `/servers/${id}/action`, body: { forceDelete: null } }, id);
}

/** Picks a server, usually one without an operation in progress. */
export function choose({ dice }: Stage, all: readonly Json[]): Json | undefined {
  const idle = all.filter((server) => (server["OS-EXT-STS:task_state"] as unknown) === null);
  return dice.pick(idle.length > 0 && dice.chance(0.75) ? idle : all);
}

async function servers(stage: Stage): Promise<readonly Json[]> {
  return (await allServers(stage)).filter((server) => !isOfBareMetal(server));
}

export async function allServers({ client }: Stage): Promise<readonly Json[]> {
  const response = await client.compute("GET", "/servers/detail?all_tenants=1");
  return response?.status === 200 ? Object.values(response.body.servers ?? {}) : [];
}
