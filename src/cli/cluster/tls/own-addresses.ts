import { networkInterfaces } from "node:os";

/** Addresses by which other machines reach this one: none of its loopback, and none that need a zone. */
export function ownAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((interfaces = []) => interfaces)
    .filter(({ internal, address }) => !internal && !/^fe80:|^169\.254\./i.test(address))
    .map(({ address }) => address);
}
