import type { SchemaStep } from "../database/schema-steps.js";

/** Tables of the embedded Ironic in the state of record's file. `record` is the whole node as JSON. */
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
