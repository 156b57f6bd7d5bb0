import type { SchemaStep } from "../database/schema-steps.js";

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
  {
    version: 2,
    name: "staging, members, tasks",
    sql: `
CREATE TABLE new_images (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL CHECK (status IN ('queued', 'saving', 'uploading', 'importing', 'active', 'deactivated')),
  content TEXT NOT NULL
) STRICT;
INSERT INTO new_images SELECT number, id, status, content FROM images;
DROP TABLE images;
ALTER TABLE new_images RENAME TO images;
CREATE TABLE image_members (
  number INTEGER PRIMARY KEY,
  image_id TEXT NOT NULL REFERENCES images (id) ON DELETE CASCADE,
  member_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'accepted', 'rejected')),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (image_id, member_id)
) STRICT;
CREATE INDEX image_members_member ON image_members (member_id);
CREATE TABLE image_tasks (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  image_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'processing', 'success', 'failure')),
  content TEXT NOT NULL
) STRICT;
CREATE INDEX image_tasks_image ON image_tasks (image_id);
`,
  },
  {
    version: 3,
    name: "metadata definitions",
    sql: `
CREATE TABLE metadef_namespaces (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE metadef_entries (
  number INTEGER PRIMARY KEY,
  namespace INTEGER NOT NULL REFERENCES metadef_namespaces (number) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('object', 'property', 'tag', 'resource_type')),
  name TEXT NOT NULL,
  content TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (namespace, kind, name)
) STRICT;
CREATE TABLE metadef_resource_types (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) STRICT;
`,
  },
];
