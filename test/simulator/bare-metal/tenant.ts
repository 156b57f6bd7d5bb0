import { OPERATIONS } from "../../chaos/operations.js";
import type { Stage } from "../actors.js";
import { allServers, choose, IMAGE, isOfBareMetal, run } from "../tenant.js";

/** The operations that Ironic supports. */
const SERVED = ["delete", "stop", "start", "reboot", "rebuild", "rescue", "unrescue"];

export async function createOnMetal(stage: Stage): Promise<void> {
  const { client, cluster, journal } = stage;
  const there = (await allServers(stage)).filter(isOfBareMetal);
  if (there.length > cluster.plan.deployment.nodes) {
    return;
  }
  const server = {
    name: `metal-${journal.lines.length}`,
    flavorRef: "baremetal",
    imageRef: IMAGE,
    networks: "none",
  };
  const response = await client.compute("POST", "/servers", { server });
  const id = response?.body.server?.id;
  journal.note("api", `create ${JSON.stringify(server)} -> ${response?.status ?? "no answer"}`, id && String(id));
  if (response?.status === 202) {
    journal.count("create on bare metal");
  }
}

export async function actOnMetal(stage: Stage): Promise<void> {
  const { dice } = stage;
  const server = choose(stage, (await allServers(stage)).filter(isOfBareMetal));
  if (server === undefined) {
    return;
  }
  const possible = OPERATIONS.filter(({ name }) => SERVED.includes(name));
  const fitting = possible.filter(({ statuses }) => statuses.includes(String(server.status)));
  const operation = dice.weighted(fitting.length > 0 && dice.chance(0.9) ? fitting : possible);
  if (operation !== undefined) {
    await run(stage, { operation, server: String(server.id) });
  }
}
