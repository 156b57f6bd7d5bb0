import type { AnySchemaObject } from "ajv";
import type { Instance } from "../../../../records/index.js";
import { notFound } from "../../../http/http-error.js";
import { schemas } from "../../../http/schemas.js";
import { FLAT_NETWORK } from "../../../network/flat-network.js";
import { addressText } from "../../../store/network-settings.js";
import type { Port } from "../../../store/ports.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireMember, requireReader } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
import { requireHost, type ServerAction } from "../actions/server-action.js";
import { assertNotLocked, findInstance, findServer } from "../find-server.js";

/** Groups the addresses of ports by the network's name. `extended` adds type and MAC address. */
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

/** Last minor microversion with these actions. */
const UNTIL = 43;

function body(action: string, member: string, schema: AnySchemaObject): AnySchemaObject {
  return {
    type: "object",
    properties: {
      [action]: {
        type: "object",
        properties: { [member]: schema },
        required: [member],
        additionalProperties: false,
      },
    },
    required: [action],
    additionalProperties: false,
  };
}

const ADD = schemas<{ readonly addFixedIp: { readonly networkId: string | number } }>([
  1,
  body("addFixedIp", "networkId", { type: ["string", "number"], minLength: 1, maxLength: 36 }),
]);

const REMOVE = schemas<{ readonly removeFixedIp: { readonly address: string } }>([
  1,
  body("removeFixedIp", "address", { type: "string", anyOf: [{ format: "ipv4" }, { format: "ipv6" }] }),
]);

/**
 * Accepts the request as Nova's API does, then records the fault of the compute service. A port of the flat network has
 * exactly one address, so Neutron would reject both actions.
 */
function rejectedLater(
  deps: ComputeDeps,
  call: Call,
  rule: "add" | "remove",
  message: (of: Instance) => string,
): ComputeResponse {
  const instance = findInstance(deps, call);
  requireMember(call, `os_compute_api:os-multinic:${rule}`);
  assertNotLocked(call, instance);
  const host = requireHost(instance);
  deps.store.instances.addFault({
    instanceUuid: instance.uuid,
    code: 404,
    message: message(instance),
    details: null,
    host,
  });
  return { status: 202 };
}

export const addFixedIp: ServerAction = {
  name: "addFixedIp",
  until: UNTIL,
  schema: ADD,
  run: (deps, call) =>
    rejectedLater(deps, call, "add", ({ uuid }) => `Network could not be found for instance ${uuid}.`),
};

export const removeFixedIp: ServerAction = {
  name: "removeFixedIp",
  until: UNTIL,
  schema: REMOVE,
  run: (deps, call) => {
    const { address } = call.body(REMOVE).removeFixedIp;
    return rejectedLater(deps, call, "remove", ({ uuid }) => `Instance ${uuid} does not have fixed IP '${address}'.`);
  },
};
