import { NetworkFault } from "../api/fault.js";
import { FLAT_NETWORK } from "./flat-network.js";

/** What a network service of more than one network would do. @throws {NetworkFault} 403 */
export function rejectChange(what: string): never {
  const { name } = FLAT_NETWORK;
  throw new NetworkFault(
    403,
    "OneFlatNetwork",
    `This cloud has one flat network, '${name}', that all projects share: ${what}. Use the network '${name}' as it is.`,
  );
}
