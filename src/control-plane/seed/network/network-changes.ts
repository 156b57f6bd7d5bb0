import { NETWORKS } from "../../network/resources/networks.js";
import { SUBNETS } from "../../network/resources/subnets.js";
import { where } from "../../resources/condition.js";
import { withoutDefaults } from "../change.js";
import { forKey } from "../database-copy.js";
import type { NetworkText } from "./network-seed-schema.js";
import { detachSubnet } from "./router-interfaces.js";
import { DEFAULT_OWNER, differences, type Keys, type SeedEdit, toAttributes, type View } from "./seed-edit.js";
import { exportSubnet, putSubnets } from "./subnet-changes.js";

const KEYS: Keys = {
  external: "router:external",
  network_type: "provider:network_type",
  physical_network: "provider:physical_network",
  segmentation_id: "provider:segmentation_id",
};

const DEFAULTS = {
  description: "",
  shared: false,
  external: false,
  is_default: false,
  admin_state_up: true,
  port_security_enabled: true,
} as const satisfies Partial<NetworkText>;

/** Deletes the file's networks that it no longer has. */
export function removeNetworks(edit: SeedEdit, desired: readonly NetworkText[]): void {
  for (const network of edit.fromFile(NETWORKS).filter((view) => !edit.includes(desired, view))) {
    const label = edit.label("network", network);
    forKey(`networks: ${label} is not in the file, but cannot be deleted`, () => {
      for (const { id } of edit.views(SUBNETS, where`network_id = ${network.id}`)) {
        detachSubnet(edit, id);
      }
      edit.records.send("DELETE", `networks/${network.id}`);
    });
    edit.report("-", label, true);
  }
}

/** Creates and changes networks with their subnets. */
export function putNetworks(edit: SeedEdit, desired: readonly NetworkText[]): void {
  for (const [index, text] of desired.entries()) {
    const key = `networks.${index}`;
    const { network, isNew } = forKey(`${key} (${text.name})`, () => putNetwork(edit, text));
    if (text.subnets !== undefined) {
      putSubnets(edit, { network, isNew, key: `${key}.subnets` }, text.subnets);
    }
  }
}

function putNetwork(edit: SeedEdit, text: NetworkText): { readonly network: View; readonly isNew: boolean } {
  const { name, project = DEFAULT_OWNER, subnets = [], ...others } = text;
  const fields = { ...DEFAULTS, ...others };
  const found = edit.find(NETWORKS, text);
  if (found === undefined) {
    const attributes = { ...toAttributes(fields, KEYS), name, project_id: edit.projects.idOf(project) };
    const network = edit.records.send("POST", "networks", { network: attributes }) as View;
    edit.records.markAsFromFile(network.id);
    const names = subnets.map((subnet) => subnet.name);
    edit.report("+", edit.label("network", network) + (names.length === 0 ? "" : `: subnets ${names.join(", ")}`));
    return { network, isNew: true };
  }
  const { changed, descriptions } = differences({ ...found, is_default: found.is_default ?? false }, fields, KEYS);
  if (descriptions.length > 0) {
    edit.records.send("PUT", `networks/${found.id}`, { network: toAttributes(changed, KEYS) });
  }
  edit.reportChanges(edit.label("network", found), found.id, descriptions);
  return { network: found, isNew: false };
}

export function exportNetworks(edit: SeedEdit): NetworkText[] {
  return edit.fromFile(NETWORKS).map((view) => {
    const { mtu, description, shared, is_default, admin_state_up, port_security_enabled } = view;
    const provider = Object.entries(KEYS).map(([key, attribute]) => [key, view[attribute] ?? undefined]);
    const fields = { description, shared, is_default: is_default ?? false, admin_state_up, port_security_enabled, mtu };
    const domain = view.dns_domain === "" ? undefined : view.dns_domain;
    const text = { ...fields, dns_domain: domain, ...Object.fromEntries(provider) };
    const subnets = edit.views(SUBNETS, where`network_id = ${view.id}`).map((subnet) => exportSubnet(edit, subnet));
    return {
      name: String(view.name),
      ...edit.ownerOf(view),
      ...(withoutDefaults(text, DEFAULTS) as Omit<NetworkText, "name" | "subnets">),
      subnets,
    };
  });
}
