import type { ComputeNode } from "../../records/index.js";
import type { AgentView } from "../context.js";
import { hasQuirk } from "../context.js";
import { ConfigRejectedError } from "./rejections.js";

/**
 * Spec 2.4 e and f: nobody else has this hypervisor on record. Runs before anything on it can be destroyed; upstream has
 * e only in the tracker's first pass (`late-node-collision-check`) and f not at all (`adopt-foreign-hypervisor`).
 * @param names uuid → name, as the driver reports.
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
        found: `the hypervisor here calls itself ${name}, compute node ${other.uuid} with that hypervisor_hostname is recorded for host ${other.host}, this agent is ${view.host}`,
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
