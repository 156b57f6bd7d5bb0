import type { Faults } from "../../faults/faults.js";
import type { Random } from "../../runtime/cryptography.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock, Timers } from "../../runtime/time.js";
import type { ValidateToken } from "../credentials.js";
import { applySchema, type SchemaStep } from "../database/schema-steps.js";
import type { Sql } from "../database/sql.js";
import { createIronicApi } from "./api/ironic-api.js";
import { IronicConductor } from "./conductor.js";
import { Hardware } from "./hardware.js";
import { NodeLocks, NodeStore } from "./node-store.js";
import { PortStore } from "./port-store.js";
import { DEFAULT_DELAYS, type HardwareDelays } from "./provision-states.js";

/** Tables of the embedded Ironic. `record` is the complete node as JSON. @internal */
export const IRONIC_SCHEMA: readonly SchemaStep[] = [
  {
    version: 1,
    name: "nodes and ports",
    sql: `
CREATE TABLE ironic_nodes (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  name TEXT UNIQUE,
  instance_uuid TEXT UNIQUE,
  record TEXT NOT NULL
) STRICT;

CREATE TABLE ironic_ports (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uuid TEXT NOT NULL UNIQUE,
  address TEXT NOT NULL UNIQUE,
  node_id INTEGER NOT NULL REFERENCES ironic_nodes (id) ON DELETE CASCADE,
  record TEXT NOT NULL
) STRICT;

CREATE INDEX ironic_ports_node_id ON ironic_ports (node_id);
`,
  },
];

const ENROLLED_PROPERTIES = { cpus: 48, memory_mb: 196_608, local_gb: 960, cpu_arch: "x86_64" };

export interface IronicOptions {
  /** Database of the control plane, in which Ironic has its own tables. */
  readonly sql: Sql;
  readonly validate: ValidateToken;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger: Logger;
  /** See `IRONIC_FAULTS`. */
  readonly faults: Faults;
  readonly delays?: Partial<HardwareDelays>;
}

/**
 * An emulated Ironic with simulated hardware.
 * @internal for tests
 */
export type IronicService = ReturnType<typeof createIronic>;

export function createIronic(options: IronicOptions) {
  const { sql, clock, timers, faults, logger } = options;
  applySchema(sql, "ironic", IRONIC_SCHEMA, clock.now());
  const nodes = new NodeStore(sql, clock);
  const ports = new PortStore(sql, clock);
  const locks = new NodeLocks(timers);
  const delays = { ...DEFAULT_DELAYS, ...options.delays };
  const hardware = new Hardware({ nodes, ports, locks, clock, timers, faults, delays, logger });
  const conductor = new IronicConductor({ nodes, ports, locks, hardware, timers });
  return {
    /** Ironic's API v1; mount it at `/baremetal`. */
    handle: createIronicApi({ ...options, nodes, ports, locks, conductor }),
    /** See {@link enrolNodes}. */
    enrol: (count: number): void => sql.transaction(() => enrolNodes(nodes, ports, count)),
    /** Continues hardware operations of an earlier process. */
    start: (): void => hardware.resume(),
    /** Stops changes; pending hardware operations continue at the next start. */
    stop: (): void => hardware.stop(),
  };
}

/** Derives all attributes of a node from its number. */
function enrolledNode(index: number) {
  const digits = String(index).padStart(12, "0");
  return {
    name: `bm-${digits.slice(-6)}`,
    uuid: `ba5eba11-0000-4000-8000-${digits}`,
    port: {
      uuid: `ba5eba11-0001-4000-8000-${digits}`,
      address: `52:54:00:${[16, 8, 0].map((shift) => ((index >> shift) & 255).toString(16).padStart(2, "0")).join(":")}`,
    },
  };
}

/** Creates the missing ones of nodes 0 to `count` - 1: available, powered off, of class `baremetal`, with one port. */
function enrolNodes(nodes: NodeStore, ports: PortStore, count: number): void {
  for (let index = 0; index < count; index += 1) {
    const { name, uuid, port } = enrolledNode(index);
    if (nodes.find(uuid) || nodes.findByName(name)) {
      continue;
    }
    const node = nodes.create({
      uuid,
      name,
      resource_class: "baremetal",
      properties: ENROLLED_PROPERTIES,
      provision_state: "available",
      power_state: "power off",
    });
    ports.create(port, node);
  }
}
