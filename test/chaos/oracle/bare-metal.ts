import type { IronicNode } from "../../../src/control-plane/bare-metal/node-store.js";
import type { Store } from "../../../src/control-plane/store/store.js";
import type { Flavor, Instance } from "../../../src/records/index.js";
import type { Violation } from "../violation.js";
import type { Snapshot } from "./snapshot.js";

/** Allocation of a server with a dedicated node. */
export const METAL = { CUSTOM_BAREMETAL: 1 };

export function isMetal({ extraSpecs }: Flavor): boolean {
  return extraSpecs["resources:CUSTOM_BAREMETAL"] === "1";
}

/**
 * Spec 9.3: returns true for a build whose agent died between message and claim, and whose node has moved to another
 * agent since. Agents that share Ironic's nodes do not detect it; its user deletes it.
 */
export function isLostBuild({ vmState, taskState, host, flavor }: Instance): boolean {
  return isMetal(flavor) && vmState === "building" && host === null && (taskState ?? "scheduling") === "scheduling";
}

/** Returns the nodes of the embedded Ironic, whose tables are in the control plane's database. */
export function ironicNodes({ database }: Store): readonly IronicNode[] {
  const tables = database.all("SELECT name FROM sqlite_schema WHERE name = 'ironic_nodes'");
  return tables.length === 0
    ? []
    : database.all("SELECT record FROM ironic_nodes ORDER BY id").map(([record]) => JSON.parse(String(record)));
}

/**
 * Checks that every node has one compute node on one of the hosts, a provider (spec 7), and exactly the server that
 * refers to it. `nodes`: uuids of the expected nodes. `reset`: servers whose state an operator has set. Such a server may
 * have lost its node to a failed build, and its power state is unknown, but the node must not have another server.
 */
export function wrongNodes(
  { store, providers }: Snapshot,
  nodes: readonly string[],
  reset: ReadonlySet<string> = new Set(),
): Violation[] {
  const found = new Map(ironicNodes(store).map((node) => [node.uuid, node]));
  return nodes.flatMap((uuid) => {
    const node = found.get(uuid);
    const rows = store.computeNodes.list().filter(({ hypervisorHostname }) => hypervisorHostname === uuid);
    return [
      ...(node === undefined ? [`node ${uuid} is not in Ironic`] : []),
      ...(rows.length === 1 ? [] : [`node ${uuid} has ${rows.length} compute nodes: ${rows.map(({ host }) => host)}`]),
      ...(providers.get(uuid) === uuid ? [] : [`node ${uuid} has no provider`]),
      ...(node ? wrongServer(store, node, rows[0]?.host, reset) : []),
    ].map((what) => ({ subject: node?.instance_uuid ?? uuid, what }));
  });
}

function wrongServer(
  store: Store,
  node: IronicNode,
  host: string | undefined,
  reset: ReadonlySet<string>,
): readonly string[] {
  const { uuid, instance_uuid: owner, provision_state: state, power_state: power } = node;
  const here = store.instances.list({ deleted: false }).filter((instance) => instance.node === uuid);
  const [server] = here;
  if (here.length > 1) {
    return [`node ${uuid} has ${here.length} servers: ${here.map((one) => one.uuid)}`];
  }
  if (server === undefined) {
    return owner === null ? [] : [`node ${uuid} (${state}) has instance ${owner}, which is not there`];
  }
  if (server.vmState === "error") {
    return [];
  }
  const isReset = reset.has(server.uuid);
  const expected = isReset ? power : server.vmState === "stopped" ? "power off" : "power on";
  return [
    ...(owner === server.uuid || (isReset && owner === null)
      ? []
      : [`${server.uuid} is ${server.vmState} on node ${uuid}, which has ${owner}`]),
    ...(server.host === host ? [] : [`${server.uuid} is on ${server.host}, its node ${uuid} is ${host}'s`]),
    ...(power === expected ? [] : [`${server.uuid} is ${server.vmState}, its node ${uuid} is ${power} (${state})`]),
  ];
}
