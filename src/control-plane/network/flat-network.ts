import { NetworkFault } from "./api/call.js";

/** The only network: flat, shared, there from the start, and not to be changed. */
export const FLAT_NETWORK = {
  id: "c0ffee00-0000-4000-8000-000000000010",
  name: "private",
  subnetId: "c0ffee00-0000-4000-8000-000000000011",
  subnetName: "private-subnet",
  mtu: 1500,
} as const;

/** Nova's clients call it so, too. */
export const NETWORK_ZONE = "nova";

/** What a network service of more than one network would do. @throws {NetworkFault} 403 */
export function rejectChange(what: string): never {
  const { name } = FLAT_NETWORK;
  throw new NetworkFault(
    403,
    "OneFlatNetwork",
    `This cloud has one flat network, '${name}', that all projects share: ${what}. Use the network '${name}' as it is.`,
  );
}
