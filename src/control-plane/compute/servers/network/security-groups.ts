import { isObject } from "../../../../runtime/collections.js";
import { badRequest, notFound } from "../../../http/http-error.js";
import type { NamedGroup } from "../../../network/compute-network.js";
import type { ServerPort } from "../../../network/server-ports.js";
import { type Call, type ComputeResponse, requireMember } from "../../api/call.js";
import { anyBody, type ServerAction } from "../actions/server-action.js";
import { findInstance } from "../find-server.js";
import { sendNetworkChanged } from "./interfaces.js";
import { findGroup } from "./requested-networks.js";

export const addSecurityGroup: ServerAction = {
  name: "addSecurityGroup",
  schema: anyBody("addSecurityGroup"),
  run: (call) =>
    change(call, "addSecurityGroup", ({ id }, ports) =>
      ports
        .filter(({ isPortSecurityEnabled }) => isPortSecurityEnabled)
        .map((port) => [port, [...new Set([...port.securityGroupIds, id])]]),
    ),
};

export const removeSecurityGroup: ServerAction = {
  name: "removeSecurityGroup",
  schema: anyBody("removeSecurityGroup"),
  run: (call) =>
    change(call, "removeSecurityGroup", ({ id, name }, ports, instanceUuid) => {
      const having = ports.filter(({ securityGroupIds }) => securityGroupIds.includes(id));
      if (having.length === 0) {
        throw notFound(`Security group ${name} not associated with the instance ${instanceUuid}`);
      }
      return having.map((port) => [port, port.securityGroupIds.filter((one) => one !== id)]);
    }),
};

type Changed = readonly (readonly [port: ServerPort, groups: readonly string[]])[];

function change(
  call: Call,
  action: "addSecurityGroup" | "removeSecurityGroup",
  changed: (group: NamedGroup, ports: readonly ServerPort[], instanceUuid: string) => Changed,
): ComputeResponse {
  const { store, network } = call.deps;
  const name = nameIn(call, action);
  const instance = findInstance(call);
  const { uuid, projectId } = instance;
  requireMember(call, `os_compute_api:os-security-groups:${action === "addSecurityGroup" ? "add" : "remove"}`);
  const own = call.credentials.projectId ?? projectId;
  return store.transaction(() => {
    const group = findGroup(call.deps, own, name);
    if (!group) {
      throw notFound(`Security group ${name} is not found for project ${own}`);
    }
    const ports = network.ports.ofServer(uuid);
    if (ports.length === 0) {
      throw notFound(`instance_id ${uuid} could not be found as device id on any ports`);
    }
    for (const [port, securityGroups] of changed(group, ports, uuid)) {
      network.ports.setSecurityGroups(port.id, securityGroups);
      sendNetworkChanged(call, instance, port.id);
    }
    return { status: 202 };
  });
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
