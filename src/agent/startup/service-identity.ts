import { COMPUTE_ID_SERVICE_VERSION, type Service } from "../../records/index.js";
import type { AgentView } from "../context.js";
import { ConfigRejectedError } from "./rejections.js";

/**
 * Spec 2.3, the table: a host that was in service before has its identity file, or gets it from its only compute node.
 * @throws {ConfigRejectedError} {@link RefusedNodeConfiguration}
 */
export async function checkServiceIdentity(view: AgentView, service: Service): Promise<void> {
  if (usesNodeIdentities(view)) {
    return;
  }
  const { host, identity } = view;
  if (await identity.read()) {
    return;
  }
  const nodes = await view.conductor.call("compute_nodes_by_host", { host });
  const [node, second] = nodes;
  if (service.version >= COMPUTE_ID_SERVICE_VERSION) {
    const recorded = nodes.map(({ uuid, hypervisorHostname }) => `${uuid} (${hypervisorHostname})`).join(", ");
    throw new ConfigRejectedError("identity-lost", {
      found: `No local node identity found, but this is not our first startup on this host: its service ${service.id} has version ${service.version}, so that its agent had one, and there is no compute_id in ${identity.path} or beside the configuration files${recorded ? `; the host's compute node is ${recorded}` : ""}`,
      hint: node
        ? `if this is the machine of ${host}, write ${node.uuid} to ${identity.path}; if it is another one, give it a --host of its own`
        : `restore ${identity.path} from a backup; without one, delete the service of host ${host} when it has no instances left, and start again`,
      records: {
        service: `${service.id}, version ${service.version}`,
        compute_id: "absent",
        ...(node ? { compute_node: node.uuid } : {}),
      },
    });
  }
  if (!node) {
    throw new ConfigRejectedError("identity-no-node", {
      found: `Upgrading from service version ${service.version} but found no nodes in the database for host ${host} to persist locally; Possible rename detected`,
      hint: `delete the service of host ${host} and start again: it is then registered as a new host`,
      records: { service: `${service.id}, version ${service.version}`, compute_nodes: "none" },
    });
  }
  if (second) {
    throw new ConfigRejectedError("identity-many-nodes", {
      found: `Multiple nodes found in database, manual node uuid configuration required: host ${host} has no identity file and ${nodes.length} compute nodes: ${nodes.map(({ uuid, hypervisorHostname }) => `${uuid} (${hypervisorHostname})`).join(", ")}`,
      hint: `write the uuid of the one that is this hypervisor to ${identity.path}`,
      records: Object.fromEntries(nodes.map(({ uuid, hypervisorHostname }) => [hypervisorHostname, uuid])),
    });
  }
  await identity.write(node.uuid);
}

/** Nodes that have identities of their own, as ironic's; the host needs none (spec 2.3 row 1). */
export function usesNodeIdentities(view: Pick<AgentView, "driver">): boolean {
  return view.driver.capabilities.hasNodeIdentities;
}
