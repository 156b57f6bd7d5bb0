import { type Condition, where } from "../../resources/condition.js";
import { CONVERTERS } from "../engine/converters.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import type { NetworkRecord } from "../engine/network-resource.js";
import { AGENTS } from "../resources/agents.js";

export const AGENT_BEHAVIOUR: Behaviour<typeof AGENTS.attributes> = {
  start(context) {
    saveDefaults(context);
  },
  compute: (context, agents) => agents.map((agent) => ({ alive: isAlive(context, agent) })),
  filters: {
    alive: (context, [value = ""]) => {
      const alive = isAliveNow(context);
      return CONVERTERS.convert_to_boolean?.(value) === true
        ? alive
        : { sql: `NOT (${alive.sql})`, values: alive.values };
    },
  },
  prepareUpdate(context, { id, admin_state_up, description }, changes) {
    const { admin_state_up: state = admin_state_up, description: text = description } = changes;
    context.sql.execute(
      `INSERT INTO network_agent_settings (agent_id, admin_state_up, description) VALUES (?, ?, ?)
        ON CONFLICT DO UPDATE SET admin_state_up = excluded.admin_state_up, description = excluded.description`,
      id,
      state ? 1 : 0,
      text,
    );
    return {};
  },
  beforeDelete(context, { id }) {
    context.sql.execute(
      `INSERT INTO network_agent_settings (agent_id, deleted_at) VALUES (?, ?)
        ON CONFLICT DO UPDATE SET admin_state_up = 1, description = NULL, deleted_at = excluded.deleted_at`,
      id,
      context.services.clock.now(),
    );
    context.sql.execute("DELETE FROM network_dhcp_schedules WHERE agent_id = ?", id);
    context.sql.execute("DELETE FROM network_router_schedules WHERE agent_id = ?", id);
  },
};

/** Returns whether the host has an Open vSwitch agent that is alive, so that ports can be bound to it. */
export function isHostAlive(context: NetworkContext, host: string): boolean {
  const { sql, values } = isAliveNow(context);
  const agent: Condition = {
    sql: `host = ? AND agent_type = 'Open vSwitch agent' AND ${sql}`,
    values: [host, ...values],
  };
  return context.table(AGENTS).has(agent);
}

/** Sets what the agent of a host reports of its bridges; null: the default. */
export function setBridges(
  { sql }: NetworkContext,
  host: string,
  bridgeMappings: Readonly<Record<string, string>> | null,
): void {
  if (bridgeMappings === null) {
    sql.execute("DELETE FROM network_host_bridges WHERE host = ?", host);
  } else {
    sql.run("INSERT OR REPLACE INTO network_host_bridges VALUES (?, ?)", host, JSON.stringify(bridgeMappings));
  }
}

/** Whether an agent has sent a heartbeat lately. */
function isAlive(
  { services }: NetworkContext,
  agent: Pick<NetworkRecord<typeof AGENTS>, "forced_down" | "heartbeat_timestamp">,
): boolean {
  const age = Math.abs(services.clock.now() - agent.heartbeat_timestamp);
  return !agent.forced_down && age <= services.options.agentDownTime * 1000;
}

function isAliveNow({ services }: NetworkContext): Condition {
  const { agentDownTime } = services.options;
  return where`forced_down = 0 AND abs(${services.clock.now()} - heartbeat_timestamp) <= ${agentDownTime * 1000}`;
}

/** Saves what agents report of the options: the bridges of their physical networks, and their availability zone. */
function saveDefaults({ sql, services }: NetworkContext): void {
  const { flatNetworks, vlanRanges, availabilityZone } = services.options;
  const bridges = JSON.stringify({
    ...Object.fromEntries(
      Object.keys(vlanRanges).map((name, index) => [name, index === 0 ? "br-phys" : `br-phys${index + 1}`]),
    ),
    ...Object.fromEntries(flatNetworks.filter((name) => name !== "*").map((name) => [name, "br-ex"])),
  });
  const [known, zone] = sql.get("SELECT bridge_mappings, availability_zone FROM network_agent_defaults") ?? [];
  if (known !== bridges || zone !== availabilityZone) {
    sql.run("INSERT OR REPLACE INTO network_agent_defaults VALUES (1, ?, ?)", bridges, availabilityZone);
  }
}
