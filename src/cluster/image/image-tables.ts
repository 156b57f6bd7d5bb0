import type { SchemaStep } from "../store/schema/apply-schema.js";

/** Tables of the embedded Image service in the state of record's file. The bytes are files. */
export const IMAGE_SCHEMA: readonly SchemaStep[] = [
  {
    version: 1,
    name: "images",
    sql: `
CREATE TABLE images (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL CHECK (status IN ('queued', 'saving', 'active')),
  content TEXT NOT NULL
) STRICT;
`,
  },
];
