import type { IronicNode } from "../../../src/control-plane/bare-metal/node-store.js";
import type { Store } from "../../../src/control-plane/store/store.js";
import type { Flavor, Instance } from "../../../src/records/index.js";
import type { Violation } from "../violation.js";
import type { Snapshot } from "./snapshot.js";

/** What a server holds of the node that it has to itself. */
export const METAL = { CUSTOM_BAREMETAL: 1 };

export function isMetal({ extraSpecs }: Flavor): boolean {
  return extraSpecs["resources:CUSTOM_BAREMETAL"] === "1";
}

/**
 * Spec 9.3: a build whose agent died between the message and the claim, and whose node has gone to another agent since. Where several
 * share Ironic's nodes nobody finds it; its user deletes it.
 */
export function isLostBuild({ vmState, taskState, host, flavor }: Instance): boolean {
  return isMetal(flavor) && vmState === "building" && host === null && (taskState ?? "scheduling") === "scheduling";
}

/** The nodes of the embedded Ironic, which has its tables in the state of record. */
export function ironicNodes({ database }: Store): readonly IronicNode[] {
  const tables = database.all("SELECT name FROM sqlite_schema WHERE name = 'ironic_nodes'");
  return tables.length === 0
    ? []
    : database.all("SELECT record FROM ironic_nodes ORDER BY id").map(([record]) => JSON.parse(String(record)));
}

/**
 * Every node has one compute node, of one of the hosts, and its provider (spec 7); it has the server that says that it is there, and
 * nobody else's. `nodes`: uuids of those that there should be. `reset`: a server whose state an operator has set may have lost its node to
 * a build that failed, and nobody knows its power; the node is nobody else's all the same.
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
