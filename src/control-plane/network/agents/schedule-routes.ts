import { isObject } from "../../../runtime/collections.js";
import type { Json } from "../../http/json.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import type { NetworkCall, NetworkRoute } from "../engine/network-call.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { enforceRule } from "../engine/network-policy.js";
import type { NetworkRecord, NetworkResource } from "../engine/network-resource.js";
import { unexpectedType } from "../engine/python-values.js";
import { findRecord, viewsOf } from "../engine/records.js";
import { renderView } from "../engine/views.js";
import { AGENTS } from "../resources/agents.js";
import { NETWORKS } from "../resources/networks.js";
import { ROUTERS } from "../resources/routers.js";
import { NETWORKS_OF_DHCP_AGENTS, ROUTERS_OF_L3_AGENTS } from "./schedules.js";

type Agent = NetworkRecord<typeof AGENTS>;

/** Networks of DHCP agents, and routers of L3 agents. */
export const SCHEDULE_ROUTES = routes<NetworkRoute>(
  {
    "GET /networks/:id/dhcp-agents": (call) => {
      enforceRule(call.context, "get_dhcp-agents", AGENTS as never, {});
      return listAgents(call.context, agentsOfNetwork(call.context, call.param("id")), {});
    },
    "GET /agents/:agent/dhcp-networks": (call) => {
      enforceRule(call.context, "get_dhcp-networks", AGENTS as never, {});
      const { id } = findRecord(call.context, AGENTS, call.param("agent"));
      const networks = `SELECT network_id FROM (${NETWORKS_OF_DHCP_AGENTS}) WHERE agent_id = ?`;
      return list(call.context, NETWORKS as never, call.context.sql.strings(networks, id));
    },
    "POST /agents/:agent/dhcp-networks": (call) => inTransaction(call, addNetwork),
    "DELETE /agents/:agent/dhcp-networks/:id": (call) => inTransaction(call, removeNetwork),
    "GET /routers/:id/l3-agents": (call) => {
      enforceRule(call.context, "get_l3-agents", AGENTS as never, {});
      const { id } = findRecord(call.context, ROUTERS, call.param("id"));
      return listAgents(call.context, agentsOfRouter(call.context, id), { ha_state: null });
    },
    "GET /agents/:agent/l3-routers": (call) => {
      enforceRule(call.context, "get_l3-routers", AGENTS as never, {});
      const { id } = findRecord(call.context, AGENTS, call.param("agent"));
      const routers = `SELECT router_id FROM (${ROUTERS_OF_L3_AGENTS}) WHERE agent_id = ?`;
      return list(call.context, ROUTERS as never, call.context.sql.strings(routers, id));
    },
    "POST /agents/:agent/l3-routers": (call) => inTransaction(call, addRouter),
    "DELETE /agents/:agent/l3-routers/:id": (call) => inTransaction(call, removeRouter),
  },
  { prefix: "/v2.0" },
);

function inTransaction(call: NetworkCall, work: (call: NetworkCall) => RouteResponse): RouteResponse {
  return call.context.sql.transaction(() => work(call));
}

function addNetwork(call: NetworkCall): RouteResponse {
  const { context } = call;
  enforceRule(context, "create_dhcp-network", AGENTS as never, {});
  const networkId = readId(call, "network_id");
  const agent = findRecord(context, AGENTS, call.param("agent"));
  const { id } = findRecord(context, NETWORKS, networkId);
  if (!isUsable(agent, "DHCP agent")) {
    const message = `Agent ${agent.id} is not a valid DHCP Agent or has been disabled.`;
    throw networkError(404, "InvalidDHCPAgent", message);
  }
  if (agentsOfNetwork(context, id).includes(agent.id)) {
    const message = `The network ${id} has been already hosted by the DHCP Agent ${agent.id}.`;
    throw networkError(409, "NetworkHostedByDHCPAgent", message);
  }
  save(context, "network", id, agent.id, true);
  return { status: 201, body: null };
}

function removeNetwork(call: NetworkCall): RouteResponse {
  const { context } = call;
  enforceRule(context, "delete_dhcp-network", AGENTS as never, {});
  const agent = findRecord(context, AGENTS, call.param("agent"));
  const id = call.param("id");
  if (!agentsOfNetwork(context, id).includes(agent.id)) {
    const message = `The network ${id} is not hosted by the DHCP Agent ${agent.id}.`;
    throw networkError(409, "NetworkNotHostedByDhcpAgent", message);
  }
  save(context, "network", id, agent.id, false);
  return { status: 204 };
}

function addRouter(call: NetworkCall): RouteResponse {
  const { context } = call;
  enforceRule(context, "create_l3-router", AGENTS as never, {});
  const routerId = readId(call, "router_id");
  const agent = findRecord(context, AGENTS, call.param("agent"));
  const { id } = findRecord(context, ROUTERS, routerId);
  if (!isUsable(agent, "L3 agent")) {
    const message = `Agent ${agent.id} is not a L3 Agent or has been disabled`;
    throw networkError(404, "InvalidL3Agent", message);
  }
  const other = agentsOfRouter(context, id).find((one) => one !== agent.id);
  if (other !== undefined) {
    const message = `The router ${id} has been already hosted by the L3 Agent ${other}.`;
    throw networkError(409, "RouterHostedByL3Agent", message);
  }
  save(context, "router", id, agent.id, true);
  return { status: 201, body: null };
}

function removeRouter(call: NetworkCall): RouteResponse {
  const { context } = call;
  enforceRule(context, "delete_l3-router", AGENTS as never, {});
  const agent = findRecord(context, AGENTS, call.param("agent"));
  const { id } = findRecord(context, ROUTERS, call.param("id"));
  if (agentsOfRouter(context, id).includes(agent.id)) {
    save(context, "router", id, agent.id, false);
  }
  return { status: 204 };
}

/** @throws {HttpError} 400 if the body has no id */
function readId(call: NetworkCall, name: "network_id" | "router_id"): string {
  const body = call.body();
  const id = isObject(body) ? body[name] : undefined;
  if (typeof id !== "string") {
    throw unexpectedType();
  }
  return id;
}

function isUsable({ agent_type: type, admin_state_up: isEnabled }: Agent, required: string): boolean {
  return type === required && isEnabled;
}

function agentsOfNetwork({ sql }: NetworkContext, networkId: string): readonly string[] {
  return sql.strings(`SELECT agent_id FROM (${NETWORKS_OF_DHCP_AGENTS}) WHERE network_id = ?`, networkId);
}

function agentsOfRouter({ sql }: NetworkContext, routerId: string): readonly string[] {
  return sql.strings(`SELECT agent_id FROM (${ROUTERS_OF_L3_AGENTS}) WHERE router_id = ?`, routerId);
}

function save(
  { sql }: NetworkContext,
  kind: "network" | "router",
  id: string,
  agentId: string,
  isHosted: boolean,
): void {
  const table = kind === "network" ? "network_dhcp_schedules" : "network_router_schedules";
  sql.execute(`INSERT OR REPLACE INTO ${table} VALUES (?, ?, ?)`, id, agentId, isHosted ? 1 : 0);
}

/** @param attributes those that agents have in this list alone */
function listAgents(
  context: NetworkContext,
  ids: readonly string[],
  attributes: Readonly<Record<string, Json>>,
): RouteResponse {
  const views = viewsOf(context, AGENTS as never, context.table(AGENTS).withIds(ids));
  const agents = views.map((view) => ({
    ...(renderView(context, AGENTS as never, view) as Readonly<Record<string, Json>>),
    resource_versions: {},
    ...attributes,
  }));
  return { body: { agents } };
}

function list(context: NetworkContext, resource: NetworkResource, ids: readonly string[]): RouteResponse {
  const views = viewsOf(context, resource, context.table(resource).withIds(ids));
  return { body: { [resource.collection]: views.map((view) => renderView(context, resource, view)) } };
}
