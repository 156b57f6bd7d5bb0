import { isObject } from "../../../runtime/is-object.js";
import { pythonRepr } from "../../python/plain-repr.js";
import { addressText } from "../../store/flat-subnet.js";
import type { Port } from "../../store/ports.js";
import type { NetworkCall } from "../api/call.js";
import { invalidInput, NetworkFault } from "../api/fault.js";
import type { Input } from "../api/input.js";
import { enforce, may } from "../api/policy.js";
import type { Resource } from "../api/resource-routes.js";
import { FLAT_NETWORK } from "../flat/flat-network.js";
import { BINDING, PORT } from "./port-view.js";

export const PORTS: Resource<Port> = {
  plural: "ports",
  singular: "port",
  path: "/v2.0/ports",
  attributes: ({ caller }) => (may(caller, "get_port:binding") ? { ...PORT, ...BINDING } : PORT),
  owner: ({ projectId }) => projectId,
  list: listed,
  find: ({ store }, id) => store.ports.get(id) ?? undefined,
  create: createPort,
  update: { rule: "update_port", change: updatePort },
  remove: ({ store }, { uuid }) => store.ports.destroy(uuid),
};

/** The ports of a server are found without a look at all others. */
function listed({ store, query, listedProject }: NetworkCall): readonly Port[] {
  const devices = query.all("device_id").filter((id) => id !== "");
  if (devices.length === 0) {
    return store.ports.list(listedProject);
  }
  const found = [...new Set(devices)].flatMap((id) => store.ports.ofDevice(id));
  return listedProject === undefined ? found : found.filter(({ projectId }) => projectId === listedProject);
}

function createPort(call: NetworkCall, input: Input): Port {
  const { store, caller } = call;
  const projectId = input.project(call);
  const network = input.require("network_id", input.uuid("network_id"));
  const groups = readGroups(call, input);
  const facts = { projectId, ...DEFAULTS, ...readFacts(input), madeForDevice: false, tag: null };
  keepDevice(input, { deviceId: "", deviceOwner: "" });
  const address = readAddress(input);
  refuseOthers(input);
  enforce(caller, "create_port", projectId);
  if (network !== FLAT_NETWORK.id) {
    throw new NetworkFault(404, "NetworkNotFound", `Network ${network} could not be found.`);
  }
  const securityGroups = groups ?? [store.securityGroups.ensureDefault(projectId).uuid];
  return store.ports.create({ ...facts, securityGroups }, address);
}

function updatePort(call: NetworkCall, port: Port, input: Input): Port {
  const securityGroups = readGroups(call, input);
  const facts = readFacts(input);
  keepDevice(input, port);
  const address = readAddress(input);
  refuseOthers(input);
  if (address !== undefined && address !== addressText(port.address)) {
    throw invalidInput(
      "fixed_ips",
      `the port keeps its address ${addressText(port.address)}; make another port for ${address}.`,
    );
  }
  return call.store.ports.update(port.uuid, { ...facts, ...(securityGroups === undefined ? {} : { securityGroups }) });
}

const DEFAULTS = { name: "", description: "", adminStateUp: true, deviceId: "", deviceOwner: "" };

/** What a server has is what Compute gave it: nobody hangs a port on another's. @throws {NetworkFault} 400 */
function keepDevice(input: Input, port: Pick<Port, "deviceId" | "deviceOwner">): void {
  for (const [name, found] of [
    ["device_id", port.deviceId],
    ["device_owner", port.deviceOwner],
  ] as const) {
    const wanted = input.text(name) ?? found;
    if (wanted !== found) {
      throw invalidInput(name, `'${wanted}': Compute sets it; add the port to a server there, or remove it.`);
    }
  }
}

function readFacts(input: Input): Partial<Pick<Port, "name" | "description" | "adminStateUp">> {
  const read = {
    name: input.text("name"),
    description: input.text("description"),
    adminStateUp: input.flag("admin_state_up"),
  };
  return Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined));
}

/** Undefined: the body says nothing of them. @throws {NetworkFault} 400, 404 */
function readGroups({ store, caller }: NetworkCall, input: Input): readonly string[] | undefined {
  const groups = input.uuids("security_groups");
  for (const uuid of groups ?? []) {
    const group = store.securityGroups.get(uuid);
    if (!group || !may(caller, "get_security_group", group.projectId)) {
      throw new NetworkFault(404, "SecurityGroupNotFound", `Security group ${uuid} does not exist`);
    }
  }
  return groups;
}

/** Undefined: any address will do. @throws {NetworkFault} 400 */
function readAddress(input: Input): string | undefined {
  const value = input.any("fixed_ips");
  if (value === undefined || value === null) {
    return undefined;
  }
  const [wanted, second] = Array.isArray(value) ? value : [];
  if (!isObject(wanted) || second !== undefined) {
    throw invalidInput("fixed_ips", `${pythonRepr(value)}: a port has exactly one address here.`);
  }
  const { subnet_id: subnet = FLAT_NETWORK.subnetId, ip_address: address, ...others } = wanted;
  const known = subnet === FLAT_NETWORK.subnetId && (address === undefined || typeof address === "string");
  if (!known || Object.keys(others).length > 0) {
    throw invalidInput("fixed_ips", `${pythonRepr(value)} names no address of the subnet ${FLAT_NETWORK.subnetId}.`);
  }
  return address;
}

/** What each client may send, as long as it asks for what every port has. @throws {NetworkFault} 400 */
function refuseOthers(input: Input): void {
  for (const [name, allowed] of [
    ["binding:vnic_type", ["normal"]],
    ["port_security_enabled", [true]],
    ["allowed_address_pairs", [[]]],
    ["extra_dhcp_opts", [[]]],
    ["binding:profile", [{}]],
    ["tags", [[]]],
  ] as const) {
    const value = input.any(name);
    if (
      value !== undefined &&
      value !== null &&
      !allowed.some((one) => JSON.stringify(one) === JSON.stringify(value))
    ) {
      throw invalidInput(name, `${pythonRepr(value)} is not supported by the flat network; leave it out.`);
    }
  }
  input.end();
}
