import { act, type Stage } from "./actors.js";
import type { Json } from "./client.js";
import { allServers, choose } from "./tenant.js";

/** Saves a server's disk as an image or as one of its rotated backups. */
export async function saveImage(stage: Stage): Promise<void> {
  const { dice } = stage;
  const isSavable = ({ status }: Json) => SAVED.includes(String(status)) || dice.chance(0.1);
  const server = choose(stage, (await allServers(stage)).filter(isSavable));
  if (server !== undefined) {
    const name = `image-${dice.between(1, 99)}`;
    const backup = { name, backup_type: "daily", rotation: dice.between(0, 2) };
    const body = dice.chance(0.6) ? { createImage: { name } } : { createBackup: backup };
    await actOn(stage, "save image", String(server.id), body);
  }
}

const SAVED = ["ACTIVE", "SHUTOFF", "PAUSED", "SUSPENDED"];

/** Restores a deleted server, which is possible while it is soft-deleted (`reclaim_instance_interval`). */
export async function restoreServer(stage: Stage): Promise<void> {
  const { dice, journal } = stage;
  const server = dice.pick([...journal.deleted].slice(-4));
  if (server !== undefined && (await actOn(stage, "restore", server, { restore: null })) === 202) {
    journal.deleted.delete(server);
  }
}

/**
 * Resets the state of a server in error to active, or sets it to error, so that its user can rebuild it.
 * Only for servers that are on a host and have no operation in progress; for others, the outcome is not defined.
 */
export async function resetState(stage: Stage): Promise<void> {
  const idle = (await allServers(stage)).filter(
    (server) =>
      (server["OS-EXT-STS:task_state"] as unknown) === null &&
      (server["OS-EXT-SRV-ATTR:host"] as unknown) !== null &&
      ["ACTIVE", "ERROR"].includes(String(server.status)),
  );
  const server = choose(stage, idle);
  if (server !== undefined) {
    const state = String(server.status) === "ERROR" ? "active" : "error";
    const id = String(server.id);
    if ((await actOn(stage, "reset state", id, { "os-resetState": { state } })) === 202) {
      // It may have been in error because its delete had failed.
      stage.journal.deleted.delete(id);
    }
  }
}

function actOn(stage: Stage, name: string, server: string, body: object): Promise<number> {
  return act(stage, name, { method: "POST", path: `/servers/${server}/action`, body }, server);
}
