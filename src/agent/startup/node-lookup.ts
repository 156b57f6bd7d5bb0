import type { ComputeNode } from "../../records/index.js";
import { VirtDriverNotReady } from "../../virt/errors.js";
import type { AgentView } from "../context.js";
import { ConfigRejectedError } from "./rejections.js";

/** Compute nodes of this hypervisor, by uuid, as they were recorded when the agent started. */
export type NodesByUuid = ReadonlyMap<string, ComputeNode>;

/** What the driver says it manages: uuid → name; null while the hypervisor is not ready (spec 2.4 a). */
export async function driverNodes(view: AgentView): Promise<ReadonlyMap<string, string> | null> {
  try {
    return await view.driver.getNodenamesByUuid();
  } catch (error) {
    if (!(error instanceof VirtDriverNotReady)) {
      throw error;
    }
    view.logger.warn("the hypervisor is not ready; its nodes cannot be compared with the records", { err: error });
    return null;
  }
}

/**
 * The records with the names that the driver reports: of all hosts, or, where nodes move between hosts and a name says nothing of
 * whose one is, of this host.
 * @param names uuid → name
 */
export async function nodesByName(
  { conductor, driver, host }: AgentView,
  names: ReadonlyMap<string, string>,
): Promise<readonly ComputeNode[]> {
  if (names.size === 0) {
    return [];
  }
  if (driver.rebalancesNodes) {
    const reported = new Set(names.values());
    const nodes = await conductor.call("compute_nodes_by_host", { host });
    return nodes.filter(({ hypervisorHostname }) => reported.has(hypervisorHostname));
  }
  const lookups = [...names.values()].map((hypervisorHostname) =>
    conductor.call("compute_nodes_by_hypervisor_hostname", { hypervisorHostname }),
  );
  return (await Promise.all(lookups)).flat();
}

/**
 * Spec 2.4 a–c.
 * @param named as {@link nodesByName} has found them @param isFirstStart the host has no service yet: it has no compute node either
 * @throws {ConfigRejectedError}
 */
export async function lookUpNodes(
  view: AgentView,
  names: ReadonlyMap<string, string>,
  named: readonly ComputeNode[],
  isFirstStart: boolean,
): Promise<NodesByUuid> {
  const known = named.filter(({ uuid }) => names.has(uuid));
  const found = new Set(known.map(({ uuid }) => uuid));
  // One of another name, if any: it was renamed.
  const uuids = [...names.keys()].filter((uuid) => !found.has(uuid));
  const others = uuids.length === 0 ? [] : await view.conductor.call("compute_nodes_by_uuids", { uuids });
  const nodes = [...known, ...others];
  if (nodes.length === 0) {
    if (isFirstStart) {
      view.logger.info("first start: registering a new compute node");
    } else {
      view.logger.warn(
        "no compute node is recorded for this hypervisor, although the host has a service; a new one is registered",
      );
    }
  }
  const identity = await whereTheUuidIsFrom(view);
  for (const node of nodes) {
    const reported = names.get(node.uuid);
    if (reported !== undefined && reported !== node.hypervisorHostname) {
      throw new ConfigRejectedError("hypervisor-renamed", {
        found: `My compute node ${node.uuid} has hypervisor_hostname ${node.hypervisorHostname} but virt driver reports it should be ${reported}. Possible rename detected: ${identity} that uuid, which is recorded for host ${node.host}`,
        hint: `if the hypervisor was renamed, give it back the name ${node.hypervisorHostname} (instances and allocations are recorded under it); if this is another machine, remove the copied compute_id file`,
        records: { compute_id: node.uuid, compute_node: node.hypervisorHostname, hypervisor: reported },
      });
    }
  }
  return new Map(nodes.map((node) => [node.uuid, node]));
}

/** Spec 2.4 d; skipped for drivers whose nodes move between hosts. @throws {ConfigRejectedError} */
export async function checkHostRename(view: AgentView, nodes: NodesByUuid): Promise<void> {
  if (view.driver.rebalancesNodes) {
    return;
  }
  const identity = await whereTheUuidIsFrom(view);
  for (const node of nodes.values()) {
    if (node.host !== view.host) {
      throw new ConfigRejectedError("node-of-other-host", {
        found: `My node ${node.uuid} has host '${node.host}' but my host is '${view.host}'. Possible rename detected: ${identity} that uuid, which is recorded with hypervisor_hostname ${node.hypervisorHostname}`,
        hint: `start the agent with --host ${node.host}; if this is not its machine, remove the copied compute_id file and give the agent a hypervisor of its own`,
        records: { compute_id: node.uuid, compute_node: node.host, agent: view.host },
      });
    }
  }
}

async function whereTheUuidIsFrom(view: AgentView): Promise<string> {
  const found = await view.identity.read();
  return found ? `compute_id file ${found.path} says` : "the driver reports";
}
