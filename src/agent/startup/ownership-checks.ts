import type { ComputeNode } from "../../records/index.js";
import { VirtDriverNotReady } from "../../virt/errors.js";
import { type AgentView, hasQuirk } from "../context.js";
import { ignore } from "../ignore-errors.js";
import { ConfigRejectedError } from "../rejections.js";

/** Compute nodes of this hypervisor, by uuid, as recorded when the agent started. */
export type NodesByUuid = ReadonlyMap<string, ComputeNode>;

/** Returns the nodes that the driver manages, uuid → name; null while the hypervisor is not ready (spec 2.4 a). */
export async function driverNodes(view: AgentView): Promise<ReadonlyMap<string, string> | null> {
  const nodes = await view.driver
    .getNodenamesByUuid()
    .catch(
      ignore(VirtDriverNotReady, (err) =>
        view.logger.warn("the hypervisor is not ready; its nodes cannot be compared with the records", { err }),
      ),
    );
  return nodes ?? null;
}

/**
 * Returns the records with the names that the driver reports, of all hosts. If the driver's nodes move between hosts,
 * so that a name does not determine the host: of this host only.
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
 * @param named the result of {@link nodesByName}
 * @param isFirstStart the host has no service yet, so it has no compute node either
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
  // A record with another name, if any: the node was renamed.
  const uuids = [...names.keys()].filter((uuid) => !found.has(uuid));
  const others = uuids.length === 0 ? [] : await view.conductor.call("compute_nodes_by_uuids", { uuids });
  const nodes = [...known, ...others];
  if (nodes.length === 0) {
    if (isFirstStart) {
      view.logger.info("first start: no compute node is recorded for this host");
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
  return found ? `compute_id file ${found.path} contains` : "the driver reports";
}

/**
 * Spec 2.4 e and f: no other record claims this hypervisor. Runs before anything on it can be destroyed. Upstream
 * checks e only in the tracker's first pass (`late-node-collision-check`) and f not at all
 * (`adopt-foreign-hypervisor`).
 * @param names uuid → name, as reported by the driver
 * @param named the records with these names
 * @throws {ConfigRejectedError}
 */
export function guardOwnership(
  view: AgentView,
  names: ReadonlyMap<string, string>,
  named: readonly ComputeNode[],
): void {
  for (const [uuid, name] of names) {
    const recorded = named.filter(({ hypervisorHostname }) => hypervisorHostname === name);
    const others = view.driver.rebalancesNodes ? [] : recorded.filter((node) => node.host !== view.host);
    const [other] = others;
    if (other && !hasQuirk(view, "adopt-foreign-hypervisor")) {
      throw new ConfigRejectedError("hypervisor-of-other-host", {
        found: `the hypervisor here has the name ${name}, compute node ${other.uuid} with that hypervisor_hostname is recorded for host ${other.host}, this agent is ${view.host}`,
        hint: `start the agent with --host ${other.host}, whose hypervisor this is; if ${other.host} is gone for good, delete its service first (\`openstack compute service delete\`); if this is another machine, give its hypervisor a name of its own`,
        records: { hypervisor: name, compute_node: `${other.uuid} of host ${other.host}`, agent: view.host },
      });
    }
    const twin = recorded.find((node) => node.host === view.host && node.uuid !== uuid);
    if (twin && !hasQuirk(view, "late-node-collision-check")) {
      throw new ConfigRejectedError("node-recorded-twice", {
        found: `Duplicate compute node record found for host ${view.host} node ${name}: this agent's uuid is ${uuid}, the record's is ${twin.uuid}`,
        hint: `write ${twin.uuid} to ${view.identity.path} (and to no other compute_id file); if the old record is obsolete, delete the service of host ${view.host} first`,
        records: { compute_id: uuid, compute_node: twin.uuid },
      });
    }
  }
}

/**
 * Spec 2.2 step 3 for a host without a service row: a hypervisor with guests is not new. The database is then the wrong
 * one, or was emptied, or the service was deleted while guests existed (spec 2.4 G9, G10).
 * @throws {ConfigRejectedError}
 */
export async function checkNewHost(view: AgentView): Promise<void> {
  const guests = await view.driver.listInstanceUuids();
  if (guests.length === 0) {
    return;
  }
  const guestList = guests.slice(0, 5).join(", ");
  throw new ConfigRejectedError("guests-on-new-host", {
    found: `My hypervisor has existing instances, but I appear to be a new service in this database: host ${view.host} has no nova-compute service on record, and its hypervisor ${guests.length} guest${guests.length === 1 ? "" : "s"}: ${guestList}${guests.length > 5 ? ", …" : ""}`,
    hint: "check that --conductor leads to the right control plane and that --host is spelled as before; if the service was deleted on purpose, remove the guests from the hypervisor first",
    records: { service: "absent", guests: String(guests.length) },
  });
}

/** Spec 2.2 step 1. @throws {ConfigRejectedError} */
export function validateConfig(view: Pick<AgentView, "config">): void {
  if (view.config.compute.maxDiskDevicesToAttach === 0) {
    throw new ConfigRejectedError("max-disk-devices-zero", {
      found: "[compute] max_disk_devices_to_attach is 0, so that no instance could have a disk",
      hint: "set it to -1 (no limit) or to 1 and more",
      records: { "[compute] max_disk_devices_to_attach": "0" },
    });
  }
}
