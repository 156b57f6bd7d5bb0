import { IRONIC_FAULTS } from "../../../src/control-plane/bare-metal/provision-states.js";
import { clearFaults, setFaults } from "../../../src/faults/fault-file.js";
import { formatFaultRule, parseFaultRule } from "../../../src/faults/faults.js";
import type { Stage } from "../actors.js";
import type { ApiResponse, Json } from "../client.js";

/** Milliseconds between two looks at a node that is on its way. */
const LOOK_EVERY = 5_000;
/** How often somebody looks before he gives up, until the next time. */
const MAX_POLLS = 24;

/** `kill -9` of one of the agents that share the nodes: the others have them when it has been away for long enough. */
export async function killIronicAgent({ cluster, dice, journal, runtime }: Stage): Promise<void> {
  const host = dice.pick(cluster.ironic.all.filter(({ agent, harmed }) => agent !== null && !harmed));
  if (host?.agent == null) {
    return;
  }
  host.harmed = true;
  const adapterCalls = dice.chance(0.7) ? dice.between(1, 60) : 0;
  journal.note("world", `kill -9 of ${host.name} after ${adapterCalls} doors`);
  host.agent.runtime.killAfter(Math.max(adapterCalls, 1));
  await runtime.timers.sleep(dice.between(0, 20_000));
  cluster.ironic.kill(host);
  await runtime.timers.sleep(dice.pick([0, 5_000, 80_000, 300_000]) ?? 0);
  host.harmed = false;
  if (host.agent === null) {
    await cluster.ironic.start(host);
  }
}

/** One operator at a time has to do with a node. */
export async function disturbNode(stage: Stage): Promise<void> {
  const { cluster, dice } = stage;
  const uuid = dice.pick((await nodesOf(stage)).map((node) => String(node.uuid)));
  const { disturbed } = cluster.ironic;
  if (uuid === undefined || disturbed.has(uuid)) {
    return;
  }
  disturbed.add(uuid);
  await takeAway(stage, uuid);
  disturbed.delete(uuid);
}

/** A node without an instance leaves Ironic and comes back, or any is taken out of service for a while. */
async function takeAway(stage: Stage, uuid: string): Promise<void> {
  const { client, cluster, dice, journal, runtime } = stage;
  if (dice.chance(0.5)) {
    const node = (await client.baremetal("GET", `/nodes/${uuid}`))?.body;
    // Ironic deletes a node with its instance, where it is in maintenance.
    if (node === undefined || (node.instance_uuid as unknown) !== null || String(node.maintenance) === "true") {
      return;
    }
    const gone = await client.baremetal("DELETE", `/nodes/${uuid}`);
    journal.note("operator", `node ${uuid} is deleted -> ${statusOf(gone)}`);
    journal.nodesLeft.add(uuid);
    await runtime.timers.sleep(dice.pick([0, 30_000, 150_000]) ?? 0);
    await enrolAgain(stage, cluster.nodes.indexOf(uuid));
    return;
  }
  const there = await client.baremetal("PUT", `/nodes/${uuid}/maintenance`, {});
  journal.note("operator", `maintenance of node ${uuid} -> ${statusOf(there)}`);
  await runtime.timers.sleep(dice.pick([5_000, 60_000, 200_000]) ?? 0);
  const back = await client.baremetal("DELETE", `/nodes/${uuid}/maintenance`);
  journal.note("operator", `end of maintenance of node ${uuid} -> ${statusOf(back)}`);
}

/** What the API does to a request, and what hardware does when it is asked for something. */
const API_TROUBLE = ["503", "503:3", "500:2", "409:2", "slow:2s", "slow:9s", "hang:20s:once", "lose-answer:once"];
const HARDWARE_TROUBLE = ["fail:once", "slow:5s", "slow:30s:2"];

/** Ironic's API fails, or takes its time, for a while; or its hardware does. */
export async function disturbIronic({ cluster, dice, journal, runtime }: Stage): Promise<void> {
  const hardware = dice.chance(0.4);
  const point = dice.pick([...IRONIC_FAULTS.keys()].filter((name) => name.startsWith("hardware.") === hardware)) ?? "";
  const trouble = dice.pick(hardware ? HARDWARE_TROUBLE : API_TROUBLE) ?? "";
  const faultRule = parseFaultRule(`${point}=${point === "hardware.validate" ? "fail:once" : trouble}`, IRONIC_FAULTS);
  journal.note("world", `fault in Ironic: ${formatFaultRule(faultRule)}`);
  await setFaults(cluster.ironicFolder, [faultRule], runtime);
  await runtime.timers.sleep(dice.between(1_000, 90_000));
  await clearFaults(cluster.ironicFolder, [point], runtime);
}

/** All nodes are there, in service, and of use again, unless somebody has them. */
export async function restoreNodes(stage: Stage): Promise<void> {
  const { client, cluster, runtime } = stage;
  await clearFaults(cluster.ironicFolder, [], runtime);
  for (const [index, uuid] of cluster.nodes.entries()) {
    const response = await client.baremetal("GET", `/nodes/${uuid}`);
    if (response?.status === 404) {
      await enrolAgain(stage, index);
    } else if (response?.status === 200) {
      await client.baremetal("DELETE", `/nodes/${uuid}/maintenance`);
      await provide(stage, uuid);
    }
  }
}

async function enrolAgain(stage: Stage, index: number): Promise<void> {
  const { client, cluster, journal } = stage;
  const uuid = cluster.nodes[index] ?? "";
  const body = {
    uuid,
    name: `bm-${String(index).padStart(6, "0")}`,
    driver: "fake-hardware",
    resource_class: "baremetal",
    properties: { cpus: 48, memory_mb: 196_608, local_gb: 960, cpu_arch: "x86_64" },
  };
  const made = await client.baremetal("POST", "/nodes", body);
  journal.note("operator", `node ${uuid} is enrolled again -> ${statusOf(made)}`);
  if (made?.status === 201) {
    const mac = `52:54:00:00:01:${(index % 256).toString(16).padStart(2, "0")}`;
    await client.baremetal("POST", "/ports", { node_uuid: uuid, address: mac });
    await provide(stage, uuid);
  }
}

/** By what a node that stays in a state is brought nearer to `available`. */
const NEXT: Readonly<Record<string, string>> = {
  enroll: "manage",
  manageable: "provide",
  "clean failed": "manage",
  "inspect failed": "manage",
};

async function provide({ client, runtime }: Stage, uuid: string): Promise<void> {
  for (let polls = 0; polls < MAX_POLLS; polls += 1) {
    const node = (await client.baremetal("GET", `/nodes/${uuid}`))?.body;
    const target = NEXT[String(node?.provision_state)];
    const idle = (node?.target_provision_state as unknown) === null;
    if (target === undefined && idle) {
      return;
    }
    if (target !== undefined) {
      await client.baremetal("PUT", `/nodes/${uuid}/states/provision`, { target });
    }
    await runtime.timers.sleep(LOOK_EVERY);
  }
}

async function nodesOf({ client }: Stage): Promise<readonly Json[]> {
  const response = await client.baremetal("GET", "/nodes");
  return response?.status === 200 ? Object.values(response.body.nodes ?? {}) : [];
}

function statusOf(response: ApiResponse | null): string {
  return response === null ? "no answer" : String(response.status);
}
