import type { Instance } from "../../../../records/index.js";
import { HttpError, notFound } from "../../../http/http-error.js";
import type { Json } from "../../../http/json.js";
import { routes } from "../../../http/router.js";
import { schemas } from "../../../http/schemas.js";
import type { ServerPort } from "../../../network/server-ports.js";
import { type ComputeRoute, requireReader } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
import { bodyOf, IP_ADDRESS } from "../../api/schema-parts.js";
import { instanceAction, requireHost } from "../actions/server-action.js";
import { findServer } from "../find-server.js";
import { sendNetworkChanged } from "./interfaces.js";

/**
 * Groups the addresses of ports by the network's name: fixed ones, then floating ones, as Nova's cache has them.
 * `extended` adds type and MAC address.
 */
export function addressesOf(ports: readonly ServerPort[], { extended }: { readonly extended: boolean }) {
  const networks = new Map<string, { fixed: Json[]; floating: Json[] }>();
  for (const { networkName, macAddress, fixedIps, floatingIps } of ports) {
    const render = (addr: string, version: number, type: "fixed" | "floating"): Json => ({
      version,
      addr,
      ...(extended ? { "OS-EXT-IPS:type": type, "OS-EXT-IPS-MAC:mac_addr": macAddress } : {}),
    });
    const addresses = networks.get(networkName) ?? { fixed: [], floating: [] };
    networks.set(networkName, addresses);
    for (const { address, version } of fixedIps) {
      addresses.fixed.push(render(address, version, "fixed"));
      const associated = floatingIps.filter(({ fixedAddress }) => fixedAddress === address);
      addresses.floating.push(...associated.map((floating) => render(floating.address, 4, "floating")));
    }
  }
  return Object.fromEntries([...networks].map(([name, { fixed, floating }]) => [name, [...fixed, ...floating]]));
}

export const ADDRESS_ROUTES = routes<ComputeRoute>({
  "GET /servers/:id/ips": (call) => {
    const { ports } = call.deps.network;
    const { instance } = findServer(call);
    requireReader(call, "os_compute_api:ips:index");
    return { body: { addresses: addressesOf(ports.ofServer(instance.uuid), { extended: false }) } };
  },
  "GET /servers/:id/ips/:network": (call) => {
    const { ports } = call.deps.network;
    const { instance } = findServer(call);
    requireReader(call, "os_compute_api:ips:show");
    const addresses = addressesOf(ports.ofServer(instance.uuid), { extended: false });
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
 * Records the fault of the compute service for a request that Nova's API accepts but whose host cannot carry out.
 */
function recordFault({ store }: ComputeDeps, instance: Instance, message: string): void {
  const host = requireHost(instance);
  store.instances.addFault({ instanceUuid: instance.uuid, code: 404, message, details: null, host });
}

/** Returns undefined if the server has no port on the network, or the network has no free address. */
function addAddress({ network }: ComputeDeps, { uuid }: Instance, networkId: string): ServerPort | undefined {
  try {
    return network.ports.addFixedIp(uuid, networkId);
  } catch (error) {
    if (error instanceof HttpError) {
      return undefined;
    }
    throw error;
  }
}

/** Adds an address to one of the server's ports on a network. */
export const addFixedIp = instanceAction({
  name: "addFixedIp",
  until: UNTIL,
  schema: ADD,
  policy: "os_compute_api:os-multinic:add",
  run: (call, instance, { addFixedIp: { networkId } }) => {
    requireHost(instance);
    const port = addAddress(call.deps, instance, String(networkId));
    if (port === undefined) {
      recordFault(call.deps, instance, `Network could not be found for instance ${instance.uuid}.`);
    } else {
      sendNetworkChanged(call, instance, port.id);
    }
  },
});

/** Removes an address from the server's port that has it. */
export const removeFixedIp = instanceAction({
  name: "removeFixedIp",
  until: UNTIL,
  schema: REMOVE,
  policy: "os_compute_api:os-multinic:remove",
  run: (call, instance, { removeFixedIp: { address } }) => {
    requireHost(instance);
    const port = call.deps.network.ports.removeFixedIp(instance.uuid, address);
    if (port === undefined) {
      recordFault(call.deps, instance, `Instance ${instance.uuid} does not have fixed IP '${address}'.`);
    } else {
      sendNetworkChanged(call, instance, port.id);
    }
  },
});
