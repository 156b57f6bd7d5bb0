import type { NovaConfig } from "../../config/nova-config.js";
import type { ComputeNode } from "../../records/index.js";
import type { ProviderTree } from "../../virt/provider-tree.js";

type OvsOptions = NovaConfig["ovs"];

/** Type of the agent, and the last part of its provider's name. */
const AGENT_TYPE = "Open vSwitch agent";

/** Ports of this type are the only ones that the emulated mechanism driver binds. */
const VNIC_TYPE_TRAIT = "CUSTOM_VNIC_TYPE_NORMAL";

/**
 * Adds the providers that Neutron creates for the host's Open vSwitch agent: the agent with its packet rates, below the
 * node, and its bridges with their bandwidths, below the agent. Without options there are none, and existing ones stay.
 */
export function addL2AgentProviders(
  tree: ProviderTree,
  { uuid: root, hypervisorHostname }: Pick<ComputeNode, "uuid" | "hypervisorHostname">,
  host: string,
  { newUuid, ...options }: OvsOptions & { readonly newUuid: () => string },
): void {
  const packetRates = packetRatesOf(options, hypervisorHostname);
  const bandwidths = options.resourceProviderBandwidths.map((item) => item.split(":"));
  if (Object.keys(packetRates).length === 0 && bandwidths.length === 0) {
    return;
  }
  const agent = `${host}:${AGENT_TYPE}`;
  const physicalNetworks = new Map(
    options.bridgeMappings.map((item) => item.split(":")).map(([network = "", bridge = ""]) => [bridge, network]),
  );
  const update = (name: string, parent: string, resources: Readonly<Record<string, string | undefined>>) => {
    if (!tree.exists(name)) {
      tree.newChild(name, parent, newUuid());
    }
    tree.updateInventory(name, inventoryOf(resources));
    tree.addTraits(name, VNIC_TYPE_TRAIT);
  };
  update(agent, root, packetRates);
  for (const [bridge = "", egress, ingress] of bandwidths) {
    const name = `${agent}:${bridge}`;
    update(name, agent, { NET_BW_EGR_KILOBIT_PER_SEC: egress, NET_BW_IGR_KILOBIT_PER_SEC: ingress });
    const network = physicalNetworks.get(bridge);
    if (network !== undefined) {
      tree.addTraits(name, physicalNetworkTrait(network));
    }
  }
}

/** Returns the packet rates of a hypervisor; an item without a hypervisor is of any. */
function packetRatesOf(options: OvsOptions, hypervisor: string): Readonly<Record<string, string | undefined>> {
  const find = (items: readonly string[]) =>
    items.map((item) => item.split(":")).find(([name]) => name === "" || name === hypervisor);
  const [, any] = find(options.resourceProviderPacketProcessingWithoutDirection) ?? [];
  const [, egress, ingress] = find(options.resourceProviderPacketProcessingWithDirection) ?? [];
  const rates = {
    NET_PACKET_RATE_KILOPACKET_PER_SEC: any,
    NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC: egress,
    NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC: ingress,
  };
  return Object.fromEntries(Object.entries(rates).filter(([, rate]) => rate !== undefined && rate !== ""));
}

/** Returns Neutron's default inventories with these totals. */
function inventoryOf(totals: Readonly<Record<string, string | undefined>>) {
  const inventories = Object.entries(totals)
    .map(([name, total]) => [name, Number(total ?? 0)] as const)
    .filter(([, total]) => total > 0)
    .map(([name, total]) => {
      const record = { total, reserved: 0, minUnit: 1, maxUnit: total, stepSize: 1, allocationRatio: 1 };
      return [name, record] as const;
    });
  return Object.fromEntries(inventories);
}

function physicalNetworkTrait(network: string): string {
  return `CUSTOM_PHYSNET_${network}`.toUpperCase().replace(/[^A-Z0-9_]+/g, "_");
}
