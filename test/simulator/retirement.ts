import { act, pickHost, type Stage } from "./actors.js";
import { serversOn, serviceId, setStatus } from "./operator.js";

/** Empties a host and deletes its service, often while operations are in progress. Later its agent returns. */
export async function retireHost(stage: Stage): Promise<void> {
  const { cluster, dice, runtime } = stage;
  const host = pickHost(stage, ({ serves, harmed, fenced }) => serves && !harmed && !fenced);
  if (host === undefined) {
    return;
  }
  host.harmed = true;
  await setStatus(stage, host, "disabled");
  for (const id of await serversOn(stage, host)) {
    const [name, body] = dice.chance(0.6)
      ? ["migrate", { migrate: null }]
      : ["live migrate", { "os-migrateLive": { host: null, block_migration: "auto" } }];
    await act(stage, name, { method: "POST", path: `/servers/${id}/action`, body }, id);
  }
  const maxPolls = dice.pick([0, 5, 20, 20]) ?? 0;
  for (let polls = 0; polls < maxPolls && (await serversOn(stage, host)).length > 0; polls += 1) {
    await runtime.timers.sleep(5_000);
  }
  host.agent?.runtime.kill();
  host.agent = null;
  const id = await serviceId(stage, host);
  // Remaining guests would prevent its agent from returning.
  const guests = await cluster.guestsOf(host, runtime);
  if (id !== null && guests.every(({ leftBehind }) => leftBehind)) {
    await act(stage, `delete service ${host.name}`, { method: "DELETE", path: `/os-services/${id}` });
  }
  await runtime.timers.sleep(dice.pick([0, 10_000, 60_000]) ?? 0);
  host.harmed = false;
  if (host.agent === null) {
    await cluster.startAgent(host);
  }
  await setStatus(stage, host, "enabled");
}
