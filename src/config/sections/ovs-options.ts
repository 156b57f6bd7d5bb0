import { option } from "../option.js";
import { listOf } from "../value-type.js";

const BRIDGE = "[^:,\\s]+";

/** An amount that may be absent: `1000`, or nothing. */
const AMOUNT = "\\d*";

/** The bridges that all hosts have by default. */
export const DEFAULT_BRIDGE_MAPPINGS: readonly string[] = ["physnet1:br-phys", "public:br-ex"];

const item = (...parts: readonly string[]) => new RegExp(`^${parts.join(":")}$`);

/** `[ovs]`: options of the host's Open vSwitch agent, with Neutron's names. The agent is emulated. */
export const OVS_OPTIONS = {
  bridge_mappings: option(
    listOf(item(BRIDGE, BRIDGE), "physical network:bridge"),
    DEFAULT_BRIDGE_MAPPINGS,
    "Bridges of the physical networks, as physical network:bridge. Segments of other physical networks do not reach the host.",
  ),
  resource_provider_bandwidths: option(
    listOf(item(BRIDGE, AMOUNT, AMOUNT), "bridge:egress:ingress"),
    [],
    "Bandwidth of bridges in kbit/s, as bridge:egress:ingress, for ports with minimum bandwidth rules. An empty amount is no inventory.",
  ),
  resource_provider_packet_processing_without_direction: option(
    listOf(item(`(?:${BRIDGE})?`, AMOUNT), "[hypervisor]:rate"),
    [],
    "Packet rate of the host in kilopackets/s, as hypervisor:rate or :rate, for ports with minimum packet rate rules of direction any.",
  ),
  resource_provider_packet_processing_with_direction: option(
    listOf(item(`(?:${BRIDGE})?`, AMOUNT, AMOUNT), "[hypervisor]:egress:ingress"),
    [],
    "Packet rates of the host in kilopackets/s, as hypervisor:egress:ingress or :egress:ingress.",
  ),
};
