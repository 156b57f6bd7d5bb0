import { defined, isObject } from "../../runtime/collections.js";
import { badRequest, conflict, HttpError } from "../http/http-error.js";
import { isoSeconds } from "../http/times.js";
import { pythonRepr } from "../python/repr.js";
import { addressText } from "../store/network-settings.js";
import type { Port } from "../store/ports.js";
import { enforce, invalidInput, may, type NetworkCall } from "./api/call.js";
import type { Input } from "./api/input.js";
import type { Attributes } from "./api/listing.js";
import type { Resource } from "./api/resource-routes.js";
import { readTags, tagRoutes } from "./api/tags.js";
import { FLAT_NETWORK } from "./flat-network.js";
import { assertWithinQuota } from "./quotas.js";

/** Details of a guest's network interface on a host with Open vSwitch. */
const VIF_DETAILS = { port_filter: true, connectivity: "l2", bridge_name: "br-int", datapath_type: "system" };

export const fixedIps = ({ address }: Pick<Port, "address">) => [
  { subnet_id: FLAT_NETWORK.subnetId, ip_address: addressText(address) },
];

const PORT: Attributes<Port> = {
  id: ({ uuid }) => uuid,
  name: ({ name }) => name,
  network_id: () => FLAT_NETWORK.id,
  tenant_id: ({ projectId }) => projectId,
  project_id: ({ projectId }) => projectId,
  mac_address: ({ mac }) => mac,
  admin_state_up: ({ adminStateUp }) => adminStateUp,
  status: portStatus,
  device_id: ({ deviceId }) => deviceId,
  device_owner: ({ deviceOwner }) => deviceOwner,
  fixed_ips: fixedIps,
  security_groups: ({ securityGroups }) => securityGroups,
  allowed_address_pairs: () => [],
  extra_dhcp_opts: () => [],
  "binding:vnic_type": () => "normal",
  port_security_enabled: () => true,
  description: ({ description }) => description,
  tags: ({ uuid }, { store }) => [...store.networkTags.of(uuid)],
  created_at: ({ createdAt }) => isoSeconds(createdAt),
  updated_at: ({ updatedAt }) => isoSeconds(updatedAt),
  revision_number: ({ revision }) => revision,
};

const BINDING: Attributes<Port> = {
  "binding:host_id": ({ host }) => host ?? "",
  "binding:vif_type": ({ host }) => bindingAt(host).vif_type,
  "binding:vif_details": ({ host }) => bindingAt(host).vif_details,
  "binding:profile": ({ host }) => bindingAt(host).profile,
};

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

export const PORT_TAGS = tagRoutes<Port>({
  ...PORTS,
  touch: ({ store }, { uuid }) => void store.ports.update(uuid, {}),
});

/** Lists ports. With a server in the filter, only its ports are read. */
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
  const attributes = { projectId, ...DEFAULTS, ...readAttributes(input), madeForDevice: false, tag: null };
  keepDevice(input, { deviceId: "", deviceOwner: "" });
  const address = readAddress(input);
  const mac = readMac(input);
  const tags = readTags(input);
  assertSupportedValues(input);
  enforce(caller, "create_port", projectId);
  if (mac !== undefined && !may(caller, "create_port:mac_address")) {
    throw new HttpError(403, "(rule:create_port and rule:create_port:mac_address) is disallowed by policy", {
      code: "PolicyNotAuthorized",
    });
  }
  if (network !== FLAT_NETWORK.id) {
    throw new HttpError(404, `Network ${network} could not be found.`, { code: "NetworkNotFound" });
  }
  return store.transaction(() => {
    assertWithinQuota(store, "port", projectId);
    assertMacNotInUse(call, mac);
    const securityGroups = groups ?? [store.securityGroups.ensureDefault(projectId).uuid];
    const port = store.ports.create({ ...attributes, securityGroups }, address, mac);
    store.networkTags.replace(port.uuid, tags);
    return port;
  });
}

function updatePort(call: NetworkCall, port: Port, input: Input): Port {
  const securityGroups = readGroups(call, input);
  const attributes = readAttributes(input);
  keepDevice(input, port);
  const address = readAddress(input);
  const mac = readMac(input);
  assertNoTags(input);
  assertSupportedValues(input);
  if (mac !== undefined && mac !== port.mac) {
    assertMacChangeable(call, port, mac);
  }
  if (address !== undefined && address !== addressText(port.address)) {
    throw invalidInput(
      "fixed_ips",
      `the port keeps its address ${addressText(port.address)}; make another port for ${address}.`,
    );
  }
  return call.store.ports.update(port.uuid, { ...attributes, ...defined({ securityGroups, mac }) });
}

/** A MAC address in pairs, in groups of four, or without separators. */
const MAC = /^([0-9a-f]{2}([:-]))(?:[0-9a-f]{2}\2){4}[0-9a-f]{2}$|^([0-9a-f]{4}\.){2}[0-9a-f]{4}$|^[0-9a-f]{12}$/i;

const NOT_OF_A_PORT = ["00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"];

/** Returns undefined if none is requested. @throws {HttpError} 400 */
function readMac(input: Input): string | undefined {
  const value = input.any("mac_address");
  if (value === undefined) {
    return undefined;
  }
  const digits = typeof value === "string" && MAC.test(value) ? value.toLowerCase().replace(/[^0-9a-f]/g, "") : "";
  const mac = digits.replace(/..(?!$)/g, "$&:");
  if (mac === "" || NOT_OF_A_PORT.includes(mac)) {
    throw invalidInput("mac_address", `'${value === null ? "None" : value}' is not a valid MAC address.`);
  }
  return mac;
}

function assertMacNotInUse({ store }: NetworkCall, mac: string | undefined): void {
  if (mac !== undefined && store.ports.withMac(mac)) {
    throw conflict(
      `Unable to complete operation for network ${FLAT_NETWORK.id}. The mac address ${mac} is in use.`,
      "MacAddressInUse",
    );
  }
}

/**
 * Checks that the MAC address may change. A bound port's may not, because a running guest would use the old one.
 * @throws {HttpError} 403, 409
 */
function assertMacChangeable(call: NetworkCall, port: Port, mac: string): void {
  if (!may(call.caller, "update_port:mac_address")) {
    throw new HttpError(403, "(rule:update_port and rule:update_port:mac_address) is disallowed by policy", {
      code: "PolicyNotAuthorized",
    });
  }
  if (port.host !== null) {
    throw conflict(
      `Unable to complete operation on port ${port.uuid}, port is already bound, port type: ` +
        `${bindingAt(port.host).vif_type}, old_mac ${port.mac}, new_mac ${mac}.`,
      "PortBound",
    );
  }
  assertMacNotInUse(call, mac);
}

/** Rejects tags in an update: existing ports have separate routes for tags. @throws {HttpError} 400 */
function assertNoTags(input: Input): void {
  if (input.any("tags") !== undefined) {
    throw badRequest("Cannot update read-only attribute tags");
  }
}

const DEFAULTS = { name: "", description: "", adminStateUp: true, deviceId: "", deviceOwner: "" };

/** Rejects changes of the device, which only Compute sets. @throws {HttpError} 400 */
function keepDevice(input: Input, port: Pick<Port, "deviceId" | "deviceOwner">): void {
  for (const [name, found] of [
    ["device_id", port.deviceId],
    ["device_owner", port.deviceOwner],
  ] as const) {
    const requested = input.text(name) ?? found;
    if (requested !== found) {
      throw invalidInput(name, `'${requested}': Compute sets it; add the port to a server there, or remove it.`);
    }
  }
}

function readAttributes(input: Input): Partial<Pick<Port, "name" | "description" | "adminStateUp">> {
  return defined({
    name: input.text("name"),
    description: input.text("description"),
    adminStateUp: input.flag("admin_state_up"),
  });
}

/** Returns undefined if the body contains no groups. @throws {HttpError} 400, 404 */
function readGroups({ store, caller }: NetworkCall, input: Input): readonly string[] | undefined {
  const groups = input.uuids("security_groups");
  for (const uuid of groups ?? []) {
    const group = store.securityGroups.get(uuid);
    if (!group || !may(caller, "get_security_group", group.projectId)) {
      throw new HttpError(404, `Security group ${uuid} does not exist`, { code: "SecurityGroupNotFound" });
    }
  }
  return groups;
}

/** Returns undefined if no address is requested. @throws {HttpError} 400 */
function readAddress(input: Input): string | undefined {
  const value = input.any("fixed_ips");
  if (value === undefined || value === null) {
    return undefined;
  }
  const [fixedIp, second] = Array.isArray(value) ? value : [];
  if (!isObject(fixedIp) || second !== undefined) {
    throw invalidInput("fixed_ips", `${pythonRepr(value)}: a port has exactly one address here.`);
  }
  const { subnet_id: subnet = FLAT_NETWORK.subnetId, ip_address: address, ...others } = fixedIp;
  const known = subnet === FLAT_NETWORK.subnetId && (address === undefined || typeof address === "string");
  if (!known || Object.keys(others).length > 0) {
    throw invalidInput("fixed_ips", `${pythonRepr(value)} names no address of the subnet ${FLAT_NETWORK.subnetId}.`);
  }
  return address;
}

/** Accepts these attributes only with the values that every port has. @throws {HttpError} 400 */
function assertSupportedValues(input: Input): void {
  for (const [name, allowed] of [
    ["binding:vnic_type", ["normal"]],
    ["port_security_enabled", [true]],
    ["allowed_address_pairs", [[]]],
    ["extra_dhcp_opts", [[]]],
    ["binding:profile", [{}]],
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

/** Returns ACTIVE if the port is plugged on the host to which it is bound. */
export function portStatus({ host, pluggedOn }: Pick<Port, "host" | "pluggedOn">): "ACTIVE" | "DOWN" {
  return host !== null && pluggedOn.includes(host) ? "ACTIVE" : "DOWN";
}

export function bindingAt(host: string | null) {
  return host === null
    ? { vif_type: "unbound", vif_details: {}, profile: {} }
    : { vif_type: "ovs", vif_details: VIF_DETAILS, profile: {} };
}
