import { aggregateTables } from "./aggregate-tables.js";
import type { SchemaStep } from "./apply-schema.js";
import { computeTables } from "./compute-tables.js";
import { conductorTables } from "./conductor-tables.js";
import { hostEpochs } from "./host-epochs.js";
import { hostMappingRules } from "./host-mapping-rules.js";
import { hotLookups } from "./hot-lookups.js";
import { injectedFiles } from "./injected-files.js";
import { listIndexes } from "./list-indexes.js";
import { networkSettings } from "./network-settings.js";
import { networkTables } from "./network-tables.js";
import { portMoves } from "./port-moves.js";
import { quotas } from "./quotas.js";
import { schedulerHints } from "./scheduler-hints.js";
import { serverGroups } from "./server-groups.js";
import { taskLog } from "./task-log.js";
import { taskRequests } from "./task-requests.js";
import { userResources } from "./user-requests.js";

/** The tables of the state of record (spec 1). */
export const STORE_SCHEMA: readonly SchemaStep[] = [
  { version: 1, name: "services, compute nodes, instances, migrations, flavors", sql: computeTables },
  { version: 2, name: "tasks, messages, answers, host leases", sql: conductorTables },
  { version: 3, name: "aggregates, projects of flavors", sql: aggregateTables },
  { version: 4, name: "hosts are mapped when they get a compute node", sql: hostMappingRules },
  { version: 5, name: "instances know whose their task is, and of an acknowledged delete", sql: taskRequests },
  { version: 6, name: "epochs of hosts", sql: hostEpochs },
  { version: 7, name: "the oldest service of a kind", sql: hotLookups },
  { version: 8, name: "indexes of lists", sql: listIndexes },
  { version: 9, name: "key pairs, and what else users bring along", sql: userResources },
  { version: 10, name: "ports and security groups", sql: networkTables },
  { version: 11, name: "server groups and their members", sql: serverGroups },
  { version: 12, name: "quotas", sql: quotas },
  { version: 13, name: "ports of servers that move", sql: portMoves },
  { version: 14, name: "files that servers begin with", sql: injectedFiles },
  { version: 15, name: "hints for the scheduler", sql: schedulerHints },
  { version: 16, name: "what hosts note of their audits", sql: taskLog },
  { version: 17, name: "tags and quotas of the network", sql: networkSettings },
  {
    version: 18,
    name: "leases are renewed",
    sql: "ALTER TABLE host_leases RENAME COLUMN seen_at TO renewed_at;",
  },
];
