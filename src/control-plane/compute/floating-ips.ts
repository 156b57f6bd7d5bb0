import type { Instance } from "../../records/index.js";
import { isObject } from "../../runtime/collections.js";
import { badRequest, conflict, forbidden, HttpError, notFound } from "../http/http-error.js";
import type { Json } from "../http/json.js";
import { routes } from "../http/router.js";
import { schemas } from "../http/schemas.js";
import { type Call, type ComputeResponse, type ComputeRoute, requireMember, requireReader } from "./api/call.js";
import { bodyOf, IP_ADDRESS, object } from "./api/schema-parts.js";
import { findNetworkRecord, LAST_PROXY, type NetworkRecord, requestNetwork } from "./network-proxy.js";
import type { ServerAction } from "./servers/actions/server-action.js";
import { findInstance } from "./servers/find-server.js";

/** Last minor microversion with the actions `addFloatingIp` and `removeFloatingIp`. */
const LAST_ACTION = 43;

/** Nova's `[neutron] default_floating_pool`. */
const DEFAULT_POOL = "public";

const policy = (what: string): string => `os_compute_api:os-floating-ips:${what}`;

/** Nova's proxy of floating IPs and the external networks that they come from. */
export const FLOATING_IP_ROUTES = routes<ComputeRoute>(
  {
    "GET /os-floating-ips": async (call) => {
      requireReader(call, policy("list"));
      const query = { project_id: call.credentials.projectId ?? "" };
      const found = await requestNetwork<readonly NetworkRecord[]>(call, {
        method: "GET",
        path: "/floatingips",
        query,
      });
      return { body: { floating_ips: await viewsOf(call, found) } };
    },
    "GET /os-floating-ips/:id": async (call) => {
      requireReader(call, policy("show"));
      const [view = null] = await viewsOf(call, [await findById(call)]);
      return { body: { floating_ip: view } };
    },
    "POST /os-floating-ips": create,
    "DELETE /os-floating-ips/:id": async (call) => {
      requireMember(call, policy("delete"));
      const { id } = await findById(call);
      await requestNetwork(call, { method: "DELETE", path: `/floatingips/${id}` });
      return { status: 202 };
    },
    "GET /os-floating-ip-pools": async (call) => {
      requireReader(call, "os_compute_api:os-floating-ip-pools");
      const pools = await externalNetworks(call);
      return { body: { floating_ip_pools: pools.map(({ name }) => ({ name: String(name) })) } };
    },
  },
  { until: LAST_PROXY },
);

function externalNetworks(call: Call): Promise<readonly NetworkRecord[]> {
  return requestNetwork(call, { method: "GET", path: "/networks", query: { "router:external": "True" } });
}

async function create(call: Call): Promise<ComputeResponse> {
  requireMember(call, policy("create"));
  const body = call.request.body === "" ? {} : call.json();
  const pool = isObject(body) && typeof body.pool === "string" ? body.pool : undefined;
  const network = (await externalNetworks(call)).find(({ id, name }) => [id, name].includes(pool ?? DEFAULT_POOL));
  if (network === undefined) {
    throw notFound("Floating IP pool not found.");
  }
  try {
    const request = { floatingip: { floating_network_id: network.id } };
    const created = await requestNetwork(call, { method: "POST", path: "/floatingips", body: request });
    const [view = null] = await viewsOf(call, [created]);
    return { body: { floating_ip: view } };
  } catch (error) {
    throw toCreateError(error, pool);
  }
}

function toCreateError(error: unknown, pool: string | undefined): unknown {
  const where = pool === undefined ? "" : ` in pool ${pool}`;
  if (!(error instanceof HttpError)) {
    return error;
  }
  switch (error.code) {
    case "OverQuota":
      return forbidden(`IP allocation over quota${where}.`);
    case "IpAddressGenerationFailure":
    case "ExternalIpAddressExhausted":
      return notFound(pool === undefined ? "No more floating IPs available." : `No more floating IPs${where}.`);
    default:
      return error.status === 400 ? badRequest(error.message) : error;
  }
}

async function findById(call: Call): Promise<NetworkRecord> {
  const found = await findNetworkRecord(call, `/floatingips/${encodeURIComponent(call.param("id"))}`);
  if (found === undefined) {
    throw notFound(`Floating IP not found for ID ${call.param("id")}`);
  }
  return found;
}

async function viewsOf(call: Call, floatingIps: readonly NetworkRecord[]): Promise<readonly Json[]> {
  const pools = new Map((await externalNetworks(call)).map(({ id, name }) => [id, String(name)]));
  return floatingIps.map((record) => ({
    id: record.id,
    ip: String(record.floating_ip_address),
    pool: pools.get(String(record.floating_network_id)) ?? String(record.floating_network_id),
    fixed_ip: (record.fixed_ip_address ?? null) as string | null,
    instance_id: serverOf(call, record),
  }));
}

/** Returns the uuid of the server with which a floating IP is associated. */
function serverOf({ deps }: Call, { port_id: portId }: NetworkRecord): string | null {
  return (typeof portId === "string" && deps.network.ports.get(portId)?.deviceId) || null;
}

interface AddBody {
  readonly addFloatingIp: { readonly address: string; readonly fixed_address?: string };
}

/** Associates a floating IP of the project with a fixed address of the server. */
export const addFloatingIp: ServerAction = {
  name: "addFloatingIp",
  until: LAST_ACTION,
  schema: schemas<AddBody>([
    1,
    bodyOf("addFloatingIp", object({ address: IP_ADDRESS, fixed_address: IP_ADDRESS }, ["address"])),
  ]),
  ask: async (call) => {
    const { addFloatingIp: requested } = call.json() as AddBody;
    const { address } = requested;
    const instance = findInstance(call);
    requireMember(call, policy("add"));
    const { portId, fixedAddress } = chooseFixedAddress(call, instance, requested);
    const floatingIp = await findByAddress(call, address);
    if (floatingIp === undefined) {
      throw notFound("floating IP not found");
    }
    const associated = { port_id: portId, fixed_ip_address: fixedAddress };
    try {
      await requestNetwork(call, {
        method: "PUT",
        path: `/floatingips/${floatingIp.id}`,
        body: { floatingip: associated },
      });
    } catch (error) {
      throw toAssociateError(
        error,
        `Unable to associate floating IP ${address} to fixed IP ${fixedAddress} for instance ${instance.uuid}.`,
      );
    }
    return { status: 202 };
  },
};

function toAssociateError(error: unknown, what: string): unknown {
  if (!(error instanceof HttpError) || error.status === 403) {
    return error;
  }
  return badRequest(error.status === 409 ? error.message : `${what} Error: ${error.message}`);
}

interface RemoveBody {
  readonly removeFloatingIp: { readonly address: string };
}

export const removeFloatingIp: ServerAction = {
  name: "removeFloatingIp",
  until: LAST_ACTION,
  schema: schemas<RemoveBody>([1, bodyOf("removeFloatingIp", object({ address: IP_ADDRESS }, ["address"]))]),
  ask: async (call) => {
    const { address } = (call.json() as RemoveBody).removeFloatingIp;
    const { uuid } = findInstance(call);
    requireMember(call, policy("remove"));
    const floatingIp = await findByAddress(call, address);
    if (floatingIp === undefined) {
      throw notFound(`Floating IP not found for address ${address}.`);
    }
    const server = serverOf(call, floatingIp);
    if (server !== uuid) {
      throw conflict(`Floating IP ${address} is not associated with instance ${uuid}.`);
    }
    await requestNetwork(call, {
      method: "PUT",
      path: `/floatingips/${floatingIp.id}`,
      body: { floatingip: { port_id: null } },
    });
    return { status: 202 };
  },
};

/** Returns the requested fixed address with its port; default: the first IPv4 address. @throws {HttpError} 400 */
function chooseFixedAddress(
  call: Call,
  { uuid }: Instance,
  { address, fixed_address: requested }: AddBody["addFloatingIp"],
) {
  const ports = call.deps.network.ports.ofServer(uuid);
  if (ports.length === 0) {
    throw badRequest("Instance network is not ready yet");
  }
  const addresses = ports.flatMap(({ id, fixedIps }) =>
    fixedIps.map((fixed) => ({ portId: id, fixedAddress: fixed.address, version: fixed.version })),
  );
  if (addresses.length === 0) {
    throw badRequest("No fixed IPs associated to instance");
  }
  if (requested !== undefined) {
    const found = addresses.find(({ fixedAddress }) => fixedAddress === requested);
    if (!found) {
      throw badRequest("Specified fixed address not assigned to instance");
    }
    return found;
  }
  const first = addresses.find(({ version }) => version === 4);
  if (!first) {
    throw badRequest(
      `Unable to associate floating IP ${address} to any fixed IPs for instance ${uuid}. Instance has no fixed IPv4 addresses to associate.`,
    );
  }
  return first;
}

async function findByAddress(call: Call, address: string): Promise<NetworkRecord | undefined> {
  const query = { floating_ip_address: address };
  const [found] = await requestNetwork<readonly NetworkRecord[]>(call, { method: "GET", path: "/floatingips", query });
  return found;
}
