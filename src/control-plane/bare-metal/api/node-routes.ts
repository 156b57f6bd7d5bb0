import { badRequest, conflict } from "../../http/http-error.js";
import { excessOf, excessText, MESSAGE_LIMITS } from "../../http/listener-limits.js";
import { routes } from "../../http/router.js";
import { isUuidLike, normalizeUuid } from "../../python/uuid.js";
import { nodeNotFound, notAcceptable } from "../ironic-error.js";
import type { IronicNode } from "../node-store.js";
import { UPDATE_ALLOWED } from "../provision-states.js";
import { type IronicCall, type IronicResponse, type IronicRoute, listArgument, onlyArguments } from "./call.js";
import { applyPatch, readPatch } from "./json-patch.js";
import { listNodes } from "./list-nodes.js";
import { changesOf, documentOf, patchableFields, readNewNode } from "./node-body.js";
import { checkFields, firstMinorOf, nodeView } from "./node-view.js";

const LOGICAL_NAME = /^[A-Za-z0-9\-._~]{1,255}$/;

export const isLogicalName = (text: string): boolean => LOGICAL_NAME.test(text);

/** Returns the node that a path names by uuid, or since 1.5 by name. @throws {HttpError} 404, 400 */
export function nodeOf({ nodes, params, minor }: Pick<IronicCall, "nodes" | "params" | "minor">): IronicNode {
  const { node: ident = "" } = params;
  if (isUuidLike(ident)) {
    return nodes.get(normalizeUuid(ident));
  }
  if (minor < 5) {
    throw nodeNotFound(ident);
  }
  if (!LOGICAL_NAME.test(ident)) {
    throw badRequest(`Expected a logical name or UUID but received ${ident}.`);
  }
  const found = nodes.findByName(ident);
  if (!found) {
    throw nodeNotFound(ident);
  }
  return found;
}

export const NODE_ROUTES = routes<IronicRoute>({
  "GET /nodes": (call) => listNodes(call, false),
  "GET /nodes/detail": (call) => listNodes(call, true),
  "POST /nodes": create,
  "GET /nodes/:node": (call) => {
    onlyArguments(call.query, ["fields"]);
    const node = nodeOf(call);
    const fields = listArgument(call.query.get("fields"));
    if (fields) {
      checkFields(fields, call.minor);
    }
    return { body: nodeView(call, fields)(node) };
  },
  "PATCH /nodes/:node": update,
  "DELETE /nodes/:node": async (call) => {
    await call.conductor.destroy(nodeOf(call).uuid);
    return { status: 204 };
  },
});

function create(call: IronicCall): IronicResponse {
  const { uuid = call.random.uuid(), ...attributes } = readNewNode(call.body, call.minor);
  if (typeof attributes.name === "string") {
    checkName(attributes.name, call.minor, `Cannot create node with invalid name '${attributes.name}'`);
  }
  checkDriver(attributes.driver, attributes.conductor_group);
  const state = call.minor < 11 ? "available" : "enroll";
  const node = call.nodes.create({ ...attributes, uuid, provision_state: state });
  return { status: 201, location: `${call.root}/v1/nodes/${node.uuid}`, body: nodeView(call)(node) };
}

function checkName(name: string, minor: number, text: string): void {
  if (minor < 5) {
    throw notAcceptable();
  }
  if (!LOGICAL_NAME.test(name) || isUuidLike(name)) {
    throw badRequest(text);
  }
}

/**
 * Validates driver and conductor group. The conductor serves every group, but only one hardware type.
 * @throws {HttpError} 400
 */
function checkDriver(driver = "", group = ""): void {
  if (driver === "fake-hardware") {
    return;
  }
  throw badRequest(
    `No valid host was found. Reason: No conductor service registered which supports driver ${driver} for conductor group "${group}".`,
  );
}

async function update(call: IronicCall): Promise<IronicResponse> {
  const patch = readPatch(call.body);
  const fields = patchableFields();
  for (const { path, op } of patch) {
    const field = path.split("/")[1] ?? "";
    if (!fields.includes(field)) {
      throw badRequest(`Cannot patch ${path}. Only the following can be updated: ${fields.join(", ")}`);
    }
    if (op !== "remove" && call.minor < (firstMinorOf(field) ?? 1)) {
      throw notAcceptable();
    }
  }
  const node = nodeOf(call);
  const isRelease = patch.length === 1 && patch[0]?.op === "remove" && patch[0].path === "/instance_uuid";
  const inTransition = node.target_provision_state !== null && !UPDATE_ALLOWED.has(node.provision_state);
  if (inTransition && !(node.maintenance && isRelease)) {
    throw conflict(`Node ${call.params.node} can not be updated while a state transition is in progress.`);
  }
  const document = applyPatch(documentOf(node), patch);
  // Checked after patching, since each operation may nest its value below the previous one.
  const excess = excessOf(JSON.stringify(document), MESSAGE_LIMITS.ironic);
  if (excess) {
    throw badRequest(`The node would be too large: ${excessText(excess, MESSAGE_LIMITS.ironic, "node")}`);
  }
  const changes = changesOf(node, document);
  if (typeof changes.name === "string") {
    checkName(
      changes.name,
      call.minor,
      `Node ${call.params.node}: Cannot change name to invalid name '${changes.name}'`,
    );
  }
  if (changes.driver !== undefined) {
    checkDriver(changes.driver, node.conductor_group);
  }
  return { body: nodeView(call)(await call.conductor.update(node.uuid, changes)) };
}
