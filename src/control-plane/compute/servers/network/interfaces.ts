import type { GroupMappings } from "../../../../placement-client/types.js";
import type { Instance } from "../../../../records/index.js";
import { defined } from "../../../../runtime/collections.js";
import { sendInstanceEvents } from "../../../conductor/agent-messages.js";
import { badRequest, conflict, HttpError, notFound } from "../../../http/http-error.js";
import { routes } from "../../../http/router.js";
import { type Schema, schemas } from "../../../http/schemas.js";
import type { PortResourceRequest, RequestedServerPort, ServerPort } from "../../../network/server-ports.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireMember, requireReader } from "../../api/call.js";
import { bodyOf, IP_ADDRESS, object, TAG, UUID_TEXT } from "../../api/schema-parts.js";
import { endAction, recordAction, requireHost, requireState } from "../actions/server-action.js";
import { assertNotLocked, findInstance, findServer } from "../find-server.js";
import { claimPortResources, releasePortResources } from "./port-resources.js";
import {
  assertAttachable,
  defaultNetworks,
  freePort,
  NETWORK_MARK,
  portLimitExceeded,
  SEVERAL_NETWORKS,
  visibleNetwork,
  visiblePort,
} from "./requested-networks.js";

interface AttachBody {
  readonly interfaceAttachment?: {
    readonly net_id?: string;
    readonly port_id?: string;
    readonly fixed_ips?: readonly { readonly ip_address: string }[];
    readonly tag?: string;
  };
}

function attachment(more: Readonly<Record<string, Schema>>): Schema {
  return object({
    interfaceAttachment: object({
      net_id: UUID_TEXT,
      port_id: UUID_TEXT,
      fixed_ips: { type: "array", minItems: 1, maxItems: 1, items: bodyOf("ip_address", IP_ADDRESS) },
      ...more,
    }),
  });
}

const ATTACH = schemas<AttachBody>([1, attachment({})], [49, attachment({ tag: TAG })]);

const policy = (what: string): string => `os_compute_api:os-attach-interfaces:${what}`;

/** Routes of a server's ports. */
export const INTERFACE_ROUTES = routes<ComputeRoute>({
  "GET /servers/:id/os-interface": (call) => {
    const { instance } = findServer(call);
    requireReader(call, policy("list"));
    const ports = call.deps.network.ports.ofServer(instance.uuid);
    return { body: { interfaceAttachments: ports.map((port) => view(call, port)) } };
  },
  "GET /servers/:id/os-interface/:port": (call) => {
    const { instance } = findServer(call);
    requireReader(call, policy("show"));
    const port = call.deps.network.ports.get(call.param("port").toLowerCase());
    if (!port) {
      throw notFound(`Port id ${call.param("port")} could not be found.`);
    }
    if (port.deviceId !== instance.uuid) {
      throw notFound(`Instance ${instance.uuid} does not have a port with id ${call.param("port")}`);
    }
    return { body: { interfaceAttachment: view(call, port) } };
  },
  "POST /servers/:id/os-interface": attach,
  "DELETE /servers/:id/os-interface/:port": detach,
});

function view({ version }: Call, { networkId, id, macAddress, status, fixedIps, tag }: ServerPort) {
  return {
    net_id: networkId,
    port_id: id,
    mac_addr: macAddress,
    port_state: status,
    fixed_ips: fixedIps.map(({ subnetId, address }) => ({ subnet_id: subnetId, ip_address: address })),
    ...(version >= 70 ? { tag } : {}),
  };
}

function attach(call: Call): ComputeResponse | Promise<ComputeResponse> {
  const { interfaceAttachment: requested = {} } = call.request.body === "" ? {} : call.body(ATTACH);
  const { net_id: network, port_id: port, fixed_ips: [fixed] = [] } = requested;
  if (network !== undefined && port !== undefined) {
    throw badRequest("Must not input both network_id and port_id");
  }
  if (fixed && network === undefined) {
    throw badRequest("Must input network_id when request IP address");
  }
  const { ports } = call.deps.network;
  const id = port?.toLowerCase();
  const request = id === undefined ? undefined : ports.resourceRequests(null, [id]).get(id);
  return request === undefined ? attachPort(call, requested) : attachWithResources(call, requested, request);
}

type Attachment = NonNullable<AttachBody["interfaceAttachment"]>;

/** Allocates the resources that the port requests before the server gets it, and frees them if it does not. */
async function attachWithResources(
  call: Call,
  requested: Attachment,
  request: PortResourceRequest,
): Promise<ComputeResponse> {
  const instance = attachable(call, "attach_interface", "create");
  resolveAttachment(call, instance, requested);
  const { allocations, mappings } = await claimPortResources(call, instance, request);
  try {
    return attachPort(call, requested, mappings);
  } catch (error) {
    await releasePortResources(call, instance, requested.port_id ?? "", allocations);
    throw error;
  }
}

function attachPort(call: Call, requested: Attachment, mappings: GroupMappings = {}): ComputeResponse {
  const { ports } = call.deps.network;
  return call.store.transaction(() => {
    const instance = attachable(call, "attach_interface", "create");
    recordAction(call, instance, "attach_interface");
    const request = resolveAttachment(call, instance, requested);
    const { uuid, projectId, host, availabilityZone, hostname } = instance;
    try {
      const server = { uuid, projectId, host, availabilityZone, hostname };
      const [id = ""] = ports.attach(server, [request], []);
      assertNoRequest(call, instance, request, id);
      ports.saveAllocations(uuid, host ?? "", mappings, id);
      const attached = ports.get(id);
      if (!attached) {
        throw new HttpError(500, `Failed to attach a network interface to ${uuid}`);
      }
      markNetworkAllocated(call, instance);
      sendNetworkChanged(call, instance, attached.id);
      endAction(call, instance, "compute_attach_interface");
      return { body: { interfaceAttachment: view(call, attached) } };
    } catch (error) {
      throw toAttachError(error, request);
    }
  });
}

/** New ports must not request resources. @throws {HttpError} 400 */
function assertNoRequest(
  { deps }: Call,
  { uuid }: Instance,
  { port, network }: RequestedServerPort,
  created: string,
): void {
  if (port === undefined && deps.network.ports.resourceRequests(null, [created]).size > 0) {
    throw badRequest(
      `Using networks with QoS policy is not supported for instance ${uuid}. (Network ID is ${network})`,
    );
  }
}

/** Resolves a request as Nova's `allocate_for_instance` does for one interface. @throws {HttpError} 400, 403, 404, 409 */
function resolveAttachment(
  call: Call,
  instance: Instance,
  { net_id: id, port_id: port, fixed_ips: [fixed] = [], tag }: Attachment,
): RequestedServerPort {
  if (port !== undefined) {
    return { port: existingPort(call, instance, port), ...defined({ tag }) };
  }
  const { projectId } = instance;
  const { limit, used } = call.deps.network.ports.portLimit(projectId);
  if (limit >= 0 && used + call.store.tasks.countRequestedPorts(projectId) >= limit) {
    throw portLimitExceeded();
  }
  return { network: chooseNetwork(call, projectId, id), ...defined({ address: fixed?.ip_address, tag }) };
}

function chooseNetwork(call: Call, projectId: string, id: string | undefined): string {
  if (id !== undefined) {
    const network = visibleNetwork(call, id);
    if (network === undefined) {
      throw notFound(`Network ${id} could not be found.`);
    }
    assertAttachable(call, network);
    return network.id;
  }
  const [first, second] = defaultNetworks(call.deps.network.ports, projectId);
  if (first === undefined) {
    throw badRequest(`No specific network was requested and none are available for project '${projectId}'.`);
  }
  if (second !== undefined) {
    throw badRequest(SEVERAL_NETWORKS);
  }
  return first.id;
}

/** Converts errors of the Network service to Nova's. */
function toAttachError(error: unknown, { network, address }: RequestedServerPort): unknown {
  if (!(error instanceof HttpError)) {
    return error;
  }
  switch (error.code) {
    case "IpAddressAlreadyAllocated":
      return conflict(`Fixed IP ${address} is already in use.`);
    case "InvalidIpForNetwork":
    case "InvalidIpForSubnet":
      return badRequest(
        `Invalid input received: Fixed IP ${address} is not a valid ip address for network ${network}.`,
      );
    case "NetworkRequiresSubnet":
      return badRequest(
        "Network requires port_security_enabled and subnet associated in order to apply security groups.",
      );
    case "OverQuota":
      return portLimitExceeded();
    case "IpAddressGenerationFailure":
      return badRequest(`No fixed IP addresses available for network: ${network}`);
    default:
      return error;
  }
}

/** Returns the port's id. An unknown port is a 404 here, and a 400 when a server is created. */
function existingPort(call: Call, { uuid, projectId }: Instance, id: string): string {
  const port = visiblePort(call, id);
  if (port === undefined) {
    throw notFound(`Port id ${id} could not be found.`);
  }
  if (port.projectId !== projectId) {
    throw badRequest(`Port ${id} not usable for instance ${uuid}.`);
  }
  return freePort(call, id).id;
}

function detach(call: Call): ComputeResponse | Promise<ComputeResponse> {
  const { ports } = call.deps.network;
  const { instance, port, allocations } = call.store.transaction(() => {
    const instance = attachable(call, "detach_interface", "delete");
    recordAction(call, instance, "detach_interface");
    const port = ports.get(call.param("port").toLowerCase());
    if (port?.deviceId !== instance.uuid) {
      throw notFound(`Port ${call.param("port")} not found`);
    }
    const allocations = ports.allocatedResources(null, [port.id]);
    ports.detach(port.id);
    sendNetworkChanged(call, instance, port.id);
    if (Object.keys(allocations).length === 0) {
      endAction(call, instance, DETACHED);
    }
    return { instance, port, allocations };
  });
  const response = { status: 202 };
  return Object.keys(allocations).length === 0
    ? response
    : releasePortResources(call, instance, port.id, allocations).then(() => {
        endAction(call, instance, DETACHED);
        return response;
      });
}

/** The event for which clients wait: with it, the server has neither the port nor the port's resources. */
const DETACHED = "compute_detach_interface";

function markNetworkAllocated(call: Call, { uuid, systemMetadata }: Instance): void {
  if (systemMetadata.network_allocated === undefined) {
    call.store.instances.save(uuid, { systemMetadata: { ...systemMetadata, ...NETWORK_MARK } });
  }
}

/** Notifies the server's hosts, which plug new ports and unplug removed ones. */
export function sendNetworkChanged({ deps, requestId }: Call, instance: Instance, port: string): void {
  const { store, bus } = deps;
  const event = { name: "network-changed", tag: port, status: "completed" };
  sendInstanceEvents({ store, bus }, instance, [event], requestId);
}

/** @throws {HttpError} 403, 404, 409 */
function attachable(call: Call, verb: "attach_interface" | "detach_interface", rule: string): Instance {
  const instance = findInstance(call);
  requireMember(call, policy(rule));
  assertNotLocked(call, instance);
  requireState(instance, verb, { vm: ["active", "paused", "stopped"] });
  requireHost(instance);
  return instance;
}
