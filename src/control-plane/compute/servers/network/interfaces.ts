import type { Instance } from "../../../../records/index.js";
import { sendInstanceEvents } from "../../../conductor/agent-messages.js";
import { badRequest, HttpError, notFound } from "../../../http/http-error.js";
import { type Schema, schemas } from "../../../http/schemas.js";
import { FLAT_NETWORK } from "../../../network/flat-network.js";
import { fixedIps, portStatus } from "../../../network/ports.js";
import { portQuota } from "../../../network/quotas.js";
import type { Port } from "../../../store/ports.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireMember, requireReader } from "../../api/call.js";
import type { ComputeDeps } from "../../api/deps.js";
import { TAG, UUID_TEXT } from "../../api/schema-parts.js";
import { recordAction, requireHost, requireState } from "../actions/server-action.js";
import { assertNotLocked, findInstance, findServer } from "../find-server.js";
import { freePort, NETWORK_MARK, portLimitExceeded } from "./requested-networks.js";

interface AttachBody {
  readonly interfaceAttachment?: {
    readonly net_id?: string;
    readonly port_id?: string;
    readonly fixed_ips?: readonly { readonly ip_address: string }[];
    readonly tag?: string;
  };
}

function attachment(more: Readonly<Record<string, Schema>>): Schema {
  const address = { type: "string", anyOf: [{ format: "ipv4" }, { format: "ipv6" }] };
  const fixed = { properties: { ip_address: address }, required: ["ip_address"], additionalProperties: false };
  return {
    type: "object",
    properties: {
      interfaceAttachment: {
        type: "object",
        properties: {
          net_id: UUID_TEXT,
          port_id: UUID_TEXT,
          fixed_ips: { type: "array", minItems: 1, maxItems: 1, items: { type: "object", ...fixed } },
          ...more,
        },
        additionalProperties: false,
      },
    },
    additionalProperties: false,
  };
}

const ATTACH = schemas<AttachBody>([1, attachment({})], [49, attachment({ tag: TAG })]);

const policy = (what: string): string => `os_compute_api:os-attach-interfaces:${what}`;

/** Routes of a server's ports. */
export const INTERFACE_ROUTES: readonly ComputeRoute[] = [
  {
    method: "GET",
    path: "/servers/:id/os-interface",
    handle: (deps, call) => {
      const { instance } = findServer(deps, call);
      requireReader(call, policy("list"));
      const ports = deps.store.ports.ofDevice(instance.uuid);
      return { body: { interfaceAttachments: ports.map((port) => view(call, port)) } };
    },
  },
  {
    method: "GET",
    path: "/servers/:id/os-interface/:port",
    handle: (deps, call) => {
      const { instance } = findServer(deps, call);
      requireReader(call, policy("show"));
      const port = deps.store.ports.get(call.param("port").toLowerCase());
      if (!port) {
        throw notFound(`Port id ${call.param("port")} could not be found.`);
      }
      if (port.deviceId !== instance.uuid) {
        throw notFound(`Instance ${instance.uuid} does not have a port with id ${call.param("port")}`);
      }
      return { body: { interfaceAttachment: view(call, port) } };
    },
  },
  { method: "POST", path: "/servers/:id/os-interface", handle: attach },
  { method: "DELETE", path: "/servers/:id/os-interface/:port", handle: detach },
];

function view({ version }: Call, port: Port) {
  return {
    net_id: FLAT_NETWORK.id,
    port_id: port.uuid,
    mac_addr: port.mac,
    port_state: portStatus(port),
    fixed_ips: fixedIps(port),
    ...(version >= 70 ? { tag: port.tag } : {}),
  };
}

function attach(deps: ComputeDeps, call: Call): ComputeResponse {
  const { interfaceAttachment: requested = {} } = call.request.body === "" ? {} : call.body(ATTACH);
  const { net_id: network, port_id: port, fixed_ips: [fixed] = [], tag } = requested;
  if (network !== undefined && port !== undefined) {
    throw badRequest("Must not input both network_id and port_id");
  }
  if (fixed && network === undefined) {
    throw badRequest("Must input network_id when request IP address");
  }
  return deps.store.transaction(() => {
    const instance = attachable(deps, call, "attach_interface", "create");
    if (network !== undefined && network.toLowerCase() !== FLAT_NETWORK.id) {
      throw notFound(`Network ${network} could not be found.`);
    }
    const quota = port === undefined ? portQuota(deps.store, instance.projectId) : null;
    if (quota !== null && quota.used + quota.reserved >= quota.limit) {
      throw portLimitExceeded();
    }
    const [made] = deps.store.ports.addToServer(
      instance,
      [
        {
          ...(port === undefined ? {} : { port: existingPort(deps, call, port) }),
          ...(fixed ? { address: fixed.ip_address } : {}),
          ...(tag === undefined ? {} : { tag }),
        },
      ],
      [deps.store.securityGroups.ensureDefault(instance.projectId).uuid],
    );
    if (!made) {
      throw new HttpError(500, `Failed to attach a network interface to ${instance.uuid}`);
    }
    noteChange(deps, call, instance, made.uuid);
    return { body: { interfaceAttachment: view(call, made) } };
  });
}

/** Returns the port's uuid. An unknown port is a 404 here, and a 400 when a server is created. */
function existingPort({ store }: ComputeDeps, call: Call, id: string): string {
  if (store.ports.get(id.toLowerCase()) === null) {
    throw notFound(`Port id ${id} could not be found.`);
  }
  return freePort(store, call, id);
}

function detach(deps: ComputeDeps, call: Call): ComputeResponse {
  return deps.store.transaction(() => {
    const instance = attachable(deps, call, "detach_interface", "delete");
    const port = deps.store.ports.get(call.param("port").toLowerCase());
    if (port?.deviceId !== instance.uuid) {
      throw notFound(`Port ${call.param("port")} not found`);
    }
    deps.store.ports.detach(port);
    noteChange(deps, call, instance, port.uuid);
    return { status: 202 };
  });
}

/** Notifies the server's host, which plugs a new port and unplugs a removed one. */
function noteChange({ store, bus }: ComputeDeps, call: Call, instance: Instance, port: string): void {
  const { uuid, systemMetadata } = instance;
  if (systemMetadata.network_allocated === undefined) {
    store.instances.save(uuid, { systemMetadata: { ...systemMetadata, ...NETWORK_MARK } });
  }
  const event = { name: "network-changed", tag: port, status: "completed" };
  sendInstanceEvents({ store, bus }, instance, [event], call.requestId);
}

/** @throws {HttpError} 403, 404, 409 */
function attachable(
  deps: ComputeDeps,
  call: Call,
  verb: "attach_interface" | "detach_interface",
  rule: string,
): Instance {
  const instance = findInstance(deps, call);
  requireMember(call, policy(rule));
  assertNotLocked(call, instance);
  requireState(instance, verb, { vm: ["active", "paused", "stopped"] });
  requireHost(instance);
  recordAction(deps, call, instance, verb);
  return instance;
}
