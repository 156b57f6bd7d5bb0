import { IRONIC_FAULTS } from "../../../src/control-plane/bare-metal/provision-states.js";
import { clearFaults, setFaults } from "../../../src/faults/fault-file.js";
import { formatFaultRule, parseFaultRule } from "../../../src/faults/faults.js";
import type { Stage } from "../actors.js";
import type { ApiResponse, Json } from "../client.js";

/** Milliseconds between polls of a node in a transitional state. */
const LOOK_EVERY = 5_000;
/** The number of polls before the operator gives up for now. */
const MAX_POLLS = 24;

/**
 * Kills one of the agents that share the nodes, as `kill -9`. The others take over its nodes when it is down for long
 * enough.
 */
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

/** Disturbs a node, unless another operator is already doing so. */
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

/** Deletes a node without an instance from Ironic and enrols it again, or sets maintenance for a while. */
async function takeAway(stage: Stage, uuid: string): Promise<void> {
  const { client, cluster, dice, journal, runtime } = stage;
  if (dice.chance(0.5)) {
    const node = (await client.baremetal("GET", `/nodes/${uuid}`))?.body;
    // Ironic deletes a node together with its instance if it is in maintenance.
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

/** Faults of the API, and faults of the hardware. */
const API_TROUBLE = ["503", "503:3", "500:2", "409:2", "slow:2s", "slow:9s", "hang:20s:once", "lose-answer:once"];
const HARDWARE_TROUBLE = ["fail:once", "slow:5s", "slow:30s:2"];

/** Makes Ironic's API or its hardware slow or faulty for a while. */
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

/** Returns all nodes to service, unless they have instances. */
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

/** The provision action that brings a node in each state closer to `available`. */
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
