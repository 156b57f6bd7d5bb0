import { isObject } from "../../../../runtime/collections.js";
import { badRequest, conflict, notFound } from "../../../http/http-error.js";
import type { Port } from "../../../store/ports.js";
import { DEFAULT_GROUP, type SecurityGroup } from "../../../store/security-groups.js";
import type { Store } from "../../../store/store.js";
import { type Call, type ComputeResponse, requireMember } from "../../api/call.js";
import { anyBody, type ServerAction } from "../actions/server-action.js";
import { findInstance } from "../find-server.js";

export const addSecurityGroup: ServerAction = {
  name: "addSecurityGroup",
  schema: anyBody("addSecurityGroup"),
  run: (call) =>
    change(call, "addSecurityGroup", ({ uuid }, ports) =>
      ports.map((port) => [port, [...new Set([...port.securityGroups, uuid])]]),
    ),
};

export const removeSecurityGroup: ServerAction = {
  name: "removeSecurityGroup",
  schema: anyBody("removeSecurityGroup"),
  run: (call) =>
    change(call, "removeSecurityGroup", ({ uuid, name }, ports, instanceUuid) => {
      const having = ports.filter(({ securityGroups }) => securityGroups.includes(uuid));
      if (having.length === 0) {
        throw notFound(`Security group ${name} not associated with the instance ${instanceUuid}`);
      }
      return having.map((port) => [port, port.securityGroups.filter((one) => one !== uuid)]);
    }),
};

type Changed = readonly (readonly [port: Port, groups: readonly string[]])[];

function change(
  call: Call,
  action: "addSecurityGroup" | "removeSecurityGroup",
  changed: (group: SecurityGroup, ports: readonly Port[], instanceUuid: string) => Changed,
): ComputeResponse {
  const { store } = call;
  const name = nameIn(call, action);
  const { uuid, projectId } = findInstance(call);
  requireMember(call, `os_compute_api:os-security-groups:${action === "addSecurityGroup" ? "add" : "remove"}`);
  const own = call.credentials.projectId ?? projectId;
  const group = findGroup(store, own, name);
  if (!group) {
    throw notFound(`Security group ${name} is not found for project ${own}`);
  }
  const ports = store.ports.ofDevice(uuid);
  if (ports.length === 0) {
    throw notFound(`instance_id ${uuid} could not be found as device id on any ports`);
  }
  for (const [port, securityGroups] of changed(group, ports, uuid)) {
    store.ports.update(port.uuid, { securityGroups });
  }
  return { status: 202 };
}

function nameIn(call: Call, action: string): string {
  const body = call.json();
  const parameters = isObject(body) ? body[action] : undefined;
  if (!isObject(parameters)) {
    throw badRequest("Missing parameter dict");
  }
  if (parameters.name === undefined) {
    throw badRequest("Security group not specified");
  }
  const name = String(parameters.name ?? "").trim();
  if (name === "") {
    throw badRequest("Security group name cannot be empty");
  }
  return name;
}

/** Returns the project's group with this id, else with this name, else null. @throws {HttpError} 409 */
export function findGroup({ securityGroups }: Store, projectId: string, nameOrId: string): SecurityGroup | null {
  const own = securityGroups.get(nameOrId.toLowerCase());
  if (own?.projectId === projectId) {
    return own;
  }
  if (nameOrId === DEFAULT_GROUP) {
    return securityGroups.ensureDefault(projectId);
  }
  const [found = null, second] = securityGroups.named(projectId, nameOrId);
  if (second) {
    throw conflict(`Multiple security_group matches found for name '${nameOrId}', use an ID to be more specific.`);
  }
  return found;
}
