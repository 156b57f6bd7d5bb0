import type { Instance } from "../../../../records/index.js";
import { notFound } from "../../../http/http-error.js";
import { routes } from "../../../http/router.js";
import { schemas } from "../../../http/schemas.js";
import { FLAT_NETWORK } from "../../../network/flat-network.js";
import { addressText } from "../../../store/network-settings.js";
import type { Port } from "../../../store/ports.js";
import { type ComputeRoute, requireReader } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
import { bodyOf, IP_ADDRESS } from "../../api/schema-parts.js";
import { instanceAction, requireHost } from "../actions/server-action.js";
import { findServer } from "../find-server.js";

/** Groups the addresses of ports by the network's name. `extended` adds type and MAC address. */
export function addressesOf(ports: readonly Port[], { extended }: { readonly extended: boolean }) {
  const addresses = ports.map(({ address, mac }) => ({
    version: 4,
    addr: addressText(address),
    ...(extended ? { "OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": mac } : {}),
  }));
  return addresses.length === 0 ? {} : { [FLAT_NETWORK.name]: addresses };
}

export const ADDRESS_ROUTES = routes<ComputeRoute>({
  "GET /servers/:id/ips": (call) => {
    const { store } = call;
    const { instance } = findServer(call);
    requireReader(call, "os_compute_api:ips:index");
    return { body: { addresses: addressesOf(store.ports.ofDevice(instance.uuid), { extended: false }) } };
  },
  "GET /servers/:id/ips/:network": (call) => {
    const { store } = call;
    const { instance } = findServer(call);
    requireReader(call, "os_compute_api:ips:show");
    const addresses = addressesOf(store.ports.ofDevice(instance.uuid), { extended: false });
    const name = call.param("network");
    if (!Object.hasOwn(addresses, name)) {
      throw notFound("Instance is not a member of specified network");
    }
    return { body: addresses };
  },
});

/** Last minor microversion with these actions. */
const UNTIL = 43;

const ADD = schemas<{ readonly addFixedIp: { readonly networkId: string | number } }>([
  1,
  bodyOf("addFixedIp", bodyOf("networkId", { type: ["string", "number"], minLength: 1, maxLength: 36 })),
]);

const REMOVE = schemas<{ readonly removeFixedIp: { readonly address: string } }>([
  1,
  bodyOf("removeFixedIp", bodyOf("address", IP_ADDRESS)),
]);

/**
 * Records the fault of the compute service for a request that Nova's API accepts. A port of the flat network has
 * exactly one address, so Neutron would reject both actions.
 */
function rejectLater({ store }: ComputeDeps, instance: Instance, message: string): void {
  const host = requireHost(instance);
  store.instances.addFault({ instanceUuid: instance.uuid, code: 404, message, details: null, host });
}

export const addFixedIp = instanceAction({
  name: "addFixedIp",
  until: UNTIL,
  schema: ADD,
  policy: "os_compute_api:os-multinic:add",
  run: (call, instance) => {
    rejectLater(call.deps, instance, `Network could not be found for instance ${instance.uuid}.`);
  },
});

export const removeFixedIp = instanceAction({
  name: "removeFixedIp",
  until: UNTIL,
  schema: REMOVE,
  policy: "os_compute_api:os-multinic:remove",
  run: (call, instance, { removeFixedIp: { address } }) => {
    rejectLater(call.deps, instance, `Instance ${instance.uuid} does not have fixed IP '${address}'.`);
  },
});
