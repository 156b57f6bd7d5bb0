import { NETWORKS } from "../resources/networks.js";
import { PORTS } from "../resources/ports.js";
import { ROUTERS } from "../resources/routers.js";
import { SUBNETS } from "../resources/subnets.js";

/** Networks of DHCP agents: those with a subnet or a port, unless a request has changed it. */
export const NETWORKS_OF_DHCP_AGENTS = `SELECT network.id AS network_id, agent.id AS agent_id, agent.availability_zone
  FROM network_agents AS agent CROSS JOIN ${NETWORKS.table} AS network
  LEFT JOIN network_dhcp_schedules AS schedule ON schedule.network_id = network.id AND schedule.agent_id = agent.id
  WHERE agent.agent_type = 'DHCP agent' AND coalesce(schedule.is_hosted, EXISTS (
    SELECT 1 FROM ${SUBNETS.table} AS subnet WHERE subnet.network_id = network.id
    UNION ALL SELECT 1 FROM ${PORTS.table} AS port WHERE port.network_id = network.id))`;

/** Routers of L3 agents: those with an interface or a gateway, unless a request has changed it. */
export const ROUTERS_OF_L3_AGENTS = `SELECT router.id AS router_id, agent.id AS agent_id, agent.availability_zone
  FROM network_agents AS agent CROSS JOIN ${ROUTERS.table} AS router
  LEFT JOIN network_router_schedules AS schedule ON schedule.router_id = router.id AND schedule.agent_id = agent.id
  WHERE agent.agent_type = 'L3 agent' AND coalesce(schedule.is_hosted, EXISTS (
    SELECT 1 FROM ${PORTS.table} AS port WHERE port.device_id = router.id AND port.device_owner GLOB 'network:router_*'))`;
