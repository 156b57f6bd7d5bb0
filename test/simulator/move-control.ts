import { act, type Stage } from "./actors.js";
import type { Json } from "./client.js";
import { allServers, choose, isOfBareMetal } from "./tenant.js";

/** Aborts or force-completes a live migration; starts one if none is in progress. */
export async function controlMove(stage: Stage): Promise<void> {
  const { client, dice } = stage;
  const server = (await withStatus(stage, "MIGRATING")) ?? (await begin(stage));
  if (server === undefined) {
    return;
  }
  const path = `/servers/${server}/migrations`;
  const response = await client.compute("GET", path);
  const [migration] = Object.values(response?.body.migrations ?? {});
  if (migration === undefined) {
    return;
  }
  const one = `${path}/${String(migration.id)}`;
  if (dice.chance(0.7)) {
    await act(stage, "abort live migration", { method: "DELETE", path: one }, server);
  } else {
    const body = { force_complete: null };
    await act(stage, "force live migration", { method: "POST", path: `${one}/action`, body }, server);
  }
}

async function begin(stage: Stage): Promise<string | undefined> {
  const { dice, runtime } = stage;
  const server = await withStatus(stage, "ACTIVE");
  if (server !== undefined) {
    const body = { "os-migrateLive": { host: null, block_migration: "auto" } };
    await act(stage, "live migrate", { method: "POST", path: `/servers/${server}/action`, body }, server);
    await runtime.timers.sleep(dice.pick([0, 100, 1_000, 5_000, 20_000]) ?? 0);
  }
  return server;
}

async function withStatus(stage: Stage, status: string): Promise<string | undefined> {
  const fits = (server: Json) => String(server.status) === status && !isOfBareMetal(server);
  const server = choose(stage, (await allServers(stage)).filter(fits));
  return server && String(server.id);
}
