import { badRequest, conflict, HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { routes } from "../../http/router.js";
import { isUuidLike } from "../../python/uuid.js";
import { nodeNotFound, notAcceptable } from "../ironic-error.js";
import type { IronicNode } from "../node-store.js";
import type { IronicPort } from "../port-store.js";
import { type IronicCall, type IronicResponse, type IronicRoute, onlyArguments, uuidArgument } from "./call.js";
import { applyPatch, readPatch } from "./json-patch.js";
import { checkPortVersion, fieldsArgument, listPorts, notPermitted, portView } from "./list-ports.js";
import { isSmartNicLink, PATCHABLE_PORT_FIELDS, type PortBody, readPortBody } from "./port-body.js";

/** Routes of all ports, and of a node's ports. */
export const PORT_ROUTES: readonly IronicRoute[] = [
  ...routes<IronicRoute>({
    "GET /ports": (call) => listPorts(call, false),
    "GET /ports/detail": (call) => listPorts(call, true),
    "POST /ports": createPort,
    "DELETE /ports": () => {
      throw badRequest("Missing mandatory parameter: port_uuid");
    },
    "GET /ports/:port": (call) => {
      onlyArguments(call.query, ["fields"]);
      const uuid = uuidArgument("port_uuid", call.params.port);
      const port = call.ports.get(uuid);
      return { body: portView(call, port, fieldsArgument(call)) };
    },
    "PATCH /ports/:port": updatePort,
    "DELETE /ports/:port": async (call) => {
      await call.conductor.destroyPort(uuidArgument("port_uuid", call.params.port));
      return { status: 204 };
    },
    "GET /nodes/:node/ports": (call) => listPorts(call, false),
    "GET /nodes/:node/ports/detail": (call) => listPorts(call, true),
    // A single port has no path below its node, and POST there is rejected.
    "POST /nodes/:node/ports": (call) => {
      readPortBody(call.body, "port");
      return notPermitted();
    },
  }),
  ...(["GET", "PATCH", "DELETE"] as const).map((method) => ({
    method,
    path: "/nodes/:node/ports/:port",
    handle: notPermitted,
  })),
];

async function createPort(call: IronicCall): Promise<IronicResponse> {
  const {
    portgroup_uuid: portgroup,
    node_uuid: nodeUuid,
    uuid = call.random.uuid(),
    ...attributes
  } = readPortBody(call.body, "port");
  const node = existingNode(call, nodeUuid);
  checkPortVersion(Object.keys(call.body as object), call.minor);
  checkNetworkType(attributes, call.minor);
  assertNoPortgroup(portgroup);
  // Ironic does not check a null connection.
  const { local_link_connection: link } = call.body as { readonly local_link_connection?: Json };
  if (attributes.is_smartnic === true && link != null && !isSmartNicLink(attributes.local_link_connection ?? {})) {
    throw badRequest("Smart NIC port must have port_id and hostname in local_link_connection");
  }
  assertNetworkNotEmpty(attributes.physical_network);
  assertPxeNotNull(attributes.pxe_enabled);
  const port = await call.conductor.createPort(node.uuid, { ...attributes, uuid });
  return { status: 201, location: `${call.root}/v1/ports/${uuid}`, body: portView(call, port) };
}

async function updatePort(call: IronicCall): Promise<IronicResponse> {
  const { nodes, ports, conductor } = call;
  const uuid = uuidArgument("port_uuid", call.params.port);
  const patch = readPatch(call.body);
  for (const { path } of patch) {
    if (!PATCHABLE_PORT_FIELDS.includes(path.split("/")[1] ?? "")) {
      const fields = PATCHABLE_PORT_FIELDS.join(", ");
      throw badRequest(`Cannot patch ${path}. Only the following can be updated: ${fields}`);
    }
  }
  const changed = patch.filter(({ op, path }) => op === "remove" || path.split("/").length === 2);
  checkPortVersion(
    changed.map(({ path }) => path.split("/")[1] ?? ""),
    call.minor,
  );
  if (call.minor < 64 && patch.some(({ path }) => path === "/local_link_connection/network_type")) {
    throw notAcceptable();
  }
  const before = ports.get(uuid);
  const document = applyPatch(documentOf(before), patch);
  if (typeof document.portgroup_uuid === "string") {
    assertNoPortgroup(document.portgroup_uuid);
  }
  if (document.node_uuid !== undefined && document.node_uuid !== before.node_uuid) {
    const requestedNode = document.node_uuid;
    if (typeof requestedNode !== "string" || !isUuidLike(requestedNode)) {
      throw badRequest(`Expected a UUID or int but received ${requestedNode}.`);
    }
    existingNode(call, requestedNode);
  }
  const after = readPortBody(document, "patch");
  const { provision_state: state, uuid: node } = nodes.get(after.node_uuid);
  if (state === "inspecting" && call.minor >= 39) {
    throw conflict(`Cannot update port "${uuid}" on "${node}" while it is in state "${state}".`);
  }
  if (patch.some(({ path }) => path.startsWith("/physical_network"))) {
    assertNetworkNotEmpty(after.physical_network);
  }
  assertPxeNotNull(document.pxe_enabled ?? null);
  return { body: portView(call, await conductor.updatePort(uuid, changesOf(before, after))) };
}

/** Returns the port as a document to patch. */
function documentOf({ uuid, address, extra, local_link_connection, node_uuid, ...port }: IronicPort) {
  const { physical_network, pxe_enabled, is_smartnic } = port;
  const link = { ...local_link_connection };
  return {
    ...{ uuid, address, extra: { ...extra }, local_link_connection: link, node_uuid, portgroup_uuid: null },
    ...{ physical_network, pxe_enabled, is_smartnic },
  };
}

/** Returns the changed attributes. Those that a patch removed get empty values. */
function changesOf(before: IronicPort, { uuid: _uuid, portgroup_uuid: _none, ...after }: PortBody) {
  const complete = { extra: {}, local_link_connection: {}, physical_network: null, is_smartnic: null, ...after };
  const entries = Object.entries(complete).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof IronicPort]),
  );
  return Object.fromEntries(entries);
}

function existingNode({ nodes }: IronicCall, uuid: string): IronicNode {
  const node = nodes.find(uuid);
  if (!node) {
    throw badRequest(nodeNotFound(uuid).message);
  }
  return node;
}

function checkNetworkType(
  { local_link_connection: link }: Pick<PortBody, "local_link_connection">,
  minor: number,
): void {
  if (minor < 64 && link !== undefined && Object.hasOwn(link, "network_type")) {
    throw notAcceptable();
  }
}

/** Rejects port groups, since there are none. @throws {HttpError} 400 */
function assertNoPortgroup(uuid: string | null | undefined): void {
  if (uuid != null) {
    throw badRequest(`Portgroup ${uuid} could not be found.`);
  }
}

function assertNetworkNotEmpty(name: string | null | undefined): void {
  if (name === "") {
    throw badRequest("A non-empty value is required when setting physical_network");
  }
}

function assertPxeNotNull(value: unknown): void {
  if (value === null) {
    throw new HttpError(500, "Field `pxe_enabled' cannot be None");
  }
}
