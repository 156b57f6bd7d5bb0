import { FLAT_NETWORK } from "../../../network/flat/flat-network.js";
import { addressText } from "../../../store/flat-subnet.js";
import type { Port } from "../../../store/ports.js";
import type { ComputeRoute } from "../../api/call.js";
import { notFound } from "../../api/fault.js";
import { requireReader } from "../../api/policy.js";
import { findServer } from "../find-server.js";

/** By the network's name; `ips` leaves the rest out. */
export function addressesOf(ports: readonly Port[], { extended }: { readonly extended: boolean }) {
  const addresses = ports.map(({ address, mac }) => ({
    version: 4,
    addr: addressText(address),
    ...(extended ? { "OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": mac } : {}),
  }));
  return addresses.length === 0 ? {} : { [FLAT_NETWORK.name]: addresses };
}

export const ADDRESS_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/servers/:id/ips",
    handle: ({ store }, call) => {
      const { instance } = findServer({ store }, call);
      requireReader(call, "os_compute_api:ips:index");
      return { body: { addresses: addressesOf(store.ports.ofDevice(instance.uuid), { extended: false }) } };
    },
  },
  {
    method: "GET",
    path: "/servers/:id/ips/:network",
    handle: ({ store }, call) => {
      const { instance } = findServer({ store }, call);
      requireReader(call, "os_compute_api:ips:show");
      const addresses = addressesOf(store.ports.ofDevice(instance.uuid), { extended: false });
      const name = call.param("network");
      if (!Object.hasOwn(addresses, name)) {
        throw notFound("Instance is not a member of specified network");
      }
      return { body: addresses };
    },
  },
];
