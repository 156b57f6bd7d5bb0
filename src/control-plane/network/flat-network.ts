import { HttpError } from "../http/http-error.js";

/** The only network: flat, shared, predefined and immutable. */
export const FLAT_NETWORK = {
  id: "c0ffee00-0000-4000-8000-000000000010",
  name: "private",
  subnetId: "c0ffee00-0000-4000-8000-000000000011",
  subnetName: "private-subnet",
  mtu: 1500,
} as const;

/** The availability zone's name, as in Nova's default. */
export const NETWORK_ZONE = "nova";

/** Rejects changes that only a service with more than one network could make. @throws {HttpError} 403 */
export function rejectChange(what: string): never {
  const { name } = FLAT_NETWORK;
  throw new HttpError(
    403,
    `This cloud has one flat network, '${name}', that all projects share: ${what}. Use the network '${name}' as it is.`,
    { code: "OneFlatNetwork" },
  );
}
