import { FLOATINGIPS } from "../../network/resources/floating-ips.js";
import { where } from "../../resources/condition.js";
import { fieldChanges, withoutDefaults } from "../change.js";
import { forKey } from "../database-copy.js";
import type { FloatingIpText } from "./network-seed-schema.js";
import { findExternalNetwork, networkName } from "./router-interfaces.js";
import { DEFAULT_OWNER, type SeedEdit, type View } from "./seed-edit.js";

/** Deletes the file's floating IPs that it no longer has, or that belong to another project now. */
export function removeFloatingIps(edit: SeedEdit, desired: readonly FloatingIpText[]): void {
  const owners = new Map(
    desired.map(({ address, project }) => [address, edit.projects.idOf(project ?? DEFAULT_OWNER)]),
  );
  for (const { id, floating_ip_address: address, project_id: owner } of edit.fromFile(FLOATINGIPS)) {
    if (owners.get(String(address)) !== owner) {
      edit.records.send("DELETE", `floatingips/${id}`);
      edit.report("-", `floating IP ${address}`, true);
    }
  }
}

export function putFloatingIps(edit: SeedEdit, desired: readonly FloatingIpText[]): void {
  for (const [index, text] of desired.entries()) {
    forKey(`floating_ips.${index} (${text.address})`, () => putFloatingIp(edit, text));
  }
}

function putFloatingIp(edit: SeedEdit, text: FloatingIpText): void {
  const { address, network, project = DEFAULT_OWNER, description = "" } = text;
  const projectId = edit.projects.idOf(project);
  const condition = where`floating_ip_address = ${address} AND project_id = ${projectId}`;
  const [found] = edit.views(FLOATINGIPS, condition);
  const label = `floating IP ${address}`;
  if (found === undefined) {
    const attributes = {
      floating_network_id: findExternalNetwork(edit, network),
      floating_ip_address: address,
      project_id: projectId,
      description,
    };
    const { id } = edit.records.send("POST", "floatingips", { floatingip: attributes }) as View;
    edit.records.markAsFromFile(id);
    edit.report("+", `${label} of project ${project}`);
    return;
  }
  const descriptions = fieldChanges({ description: found.description }, { description });
  if (descriptions.length > 0) {
    edit.records.send("PUT", `floatingips/${found.id}`, { floatingip: { description } });
  }
  edit.reportChanges(label, found.id, descriptions);
}

export function exportFloatingIps(edit: SeedEdit): FloatingIpText[] {
  return edit.fromFile(FLOATINGIPS).map((view) => ({
    address: String(view.floating_ip_address),
    network: networkName(edit, view.floating_network_id) ?? "",
    ...edit.ownerOf(view),
    ...(withoutDefaults({ description: view.description }, { description: "" }) as Partial<FloatingIpText>),
  }));
}
